"use strict";
// What the explorer draws. `strict` has its WebGL programs compiled beforehand, so that a
// Content-Security-Policy without 'unsafe-eval' lets it run.
var Plotly = require("plotly.js/lib/core");
Plotly.register([
    require("plotly.js/lib/bar"),
    require("plotly.js/lib/contour"),
    require("plotly.js/src/traces/scattergl/strict"),
]);
module.exports = Plotly;
