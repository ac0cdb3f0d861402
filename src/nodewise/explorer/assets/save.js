// Saves the map as a picture: on white, since the page's colors are not part of it.
"use strict";
document.addEventListener("click", event => {
  if (event.target.id !== "png") return;
  const map = document.querySelector("#map .js-plotly-plot") ?? document.getElementById("map");
  const layout = { ...map.layout, paper_bgcolor: "#fff", plot_bgcolor: "#fff" };
  const size = { width: map.clientWidth, height: map.clientHeight, scale: 2 };
  Plotly.downloadImage({ data: map.data, layout }, { format: "png", filename: "nodewise-map", ...size });
});
