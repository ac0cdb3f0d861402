// Writes plotly.min.js, the licences of all it is made of, and their SHA-256:
// `npm ci --ignore-scripts && node build.js` in this folder.
"use strict";
const { createHash } = require("node:crypto");
const { readFileSync, readdirSync, writeFileSync } = require("node:fs");
const { basename } = require("node:path");
const { environmentPlugin } = require("esbuild-plugin-environment");
const { glsl } = require("esbuild-plugin-glsl");
const { version } = require("plotly.js/package.json");

const ASSETS = "../assets", LICENSES = `${ASSETS}/plotly.licenses.txt`, SCRIPT = `${ASSETS}/plotly.min.js`;
const banner = `/*! plotly.js v${version}, Copyright 2012-2026 Plotly, Inc., MIT license: the traces of ` +
  "nodewise/explorer/bundle/entry.js, without code that is compiled from text. */";

// The folders of the packages that the build has a part of.
function packages(outputs) {
  const inputs = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const parts = inputs.filter(([file, { bytesInOutput }]) => bytesInOutput && !file.endsWith(".css")).map(([file]) => file);
  const found = parts.map(file => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
  return [...new Set(found.filter(Boolean))].sort();
}

function license(folder) {
  const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const files = readdirSync(folder).filter(name => /^(licen[cs]e|copying)/i.test(name));
  const texts = files.map(name => readFileSync(`${folder}/${name}`, "utf8").trim());
  const author = typeof about.author === "object" ? about.author.name : about.author;
  const missing = `No text in the package. Its licence: ${about.license}; its author: ${(author ?? "not named").replace(/ <.*/, "")}.`;
  const text = (texts.join("\n\n") || missing).replace(/[ \t]+$/gm, "").replaceAll("\r", "");
  return `${about.name} ${about.version}\n\n${text}\n`;
}

function sum(path) {
  return `${createHash("sha256").update(readFileSync(path)).digest("hex")}  ${basename(path)}\n`;
}

// As plotly.js builds its own bundles, but for the style sheet of geographic maps, which we do not draw.
require("esbuild").build({
  entryPoints: ["entry.js"], outfile: SCRIPT, bundle: true, minify: true, metafile: true,
  format: "iife", globalName: "Plotly", target: "es2016", legalComments: "inline",
  banner: { js: banner }, loader: { ".css": "empty" },
  plugins: [glsl({ minify: true }), environmentPlugin({ NODE_DEBUG: false })],
  alias: { regl: "@plotly/regl", stream: "stream-browserify" },
  define: { global: "window", "define.amd": "false" },
}).then(({ metafile }) => {
  const line = "-".repeat(80);
  writeFileSync(LICENSES, packages(metafile.outputs).map(license).join(`\n${line}\n\n`));
  writeFileSync("SHA256SUMS", sum(LICENSES) + sum(SCRIPT));
}).catch(error => { console.error(error); process.exit(1); });
