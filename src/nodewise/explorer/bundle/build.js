// Writes ../assets/plotly.min.js: `npm ci --ignore-scripts && node build.js` in this folder.
"use strict";
const { environmentPlugin } = require("esbuild-plugin-environment");
const { glsl } = require("esbuild-plugin-glsl");
const inlineCss = require("esbuild-plugin-inline-css");
const { version } = require("plotly.js/package.json");

const banner = `/*! plotly.js v${version}, Copyright 2012-2026 Plotly, Inc., MIT license: the traces of ` +
  "nodewise/explorer/bundle/entry.js, without code that is compiled from text. */";
// As plotly.js builds its own bundles.
require("esbuild").build({
  entryPoints: ["entry.js"], outfile: "../assets/plotly.min.js", bundle: true, minify: true,
  format: "iife", globalName: "Plotly", target: "es2016", legalComments: "inline",
  banner: { js: banner },
  plugins: [inlineCss(), glsl({ minify: true }), environmentPlugin({ NODE_DEBUG: false })],
  alias: { regl: "@plotly/regl", stream: "stream-browserify" },
  define: { global: "window", "define.amd": "false" },
}).catch(() => process.exit(1));
