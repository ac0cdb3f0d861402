// The script of the page in one file. Names from the graph are set as text, never as HTML; plotly
// gets them escaped. The state is the address's fragment, which files have, too.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const numbers = new Map(data.ids.map((id, i) => [id, i]));
const start = { map: Object.keys(data.maps)[0], layout: "pca", color: "label", show: "all", node: "", other: "" };
let state = { ...start }, selected = null, drawn = "";

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { ...start };
  for (const [key, known] of [["map", data.maps], ["layout", data.layouts], ["color", data.colorings], ["show", data.shown]])
    if (Object.hasOwn(known, given.get(key))) state[key] = given.get(key);
  for (const key of ["node", "other"]) if (numbers.has(given.get(key))) state[key] = given.get(key);
}

function change(part) {
  const next = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...state, ...part }))
    if (value !== start[key]) next.set(key, value);
  if (next.toString() === location.hash.slice(1)) draw();
  else location.hash = next;  // draws, and can be gone back to
}

function element(tag, text, inner = [], attributes = {}) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  made.append(...inner);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function scene() {
  return data.scenes[`${state.map} ${state.layout}`];
}

function traces() {
  const shown = new Set(data.filters[state.show]), places = scene().places;
  return data.traces[state.color].map(trace => {
    const kept = trace.customdata.flatMap((node, i) => (shown.has(node) ? [i] : []));
    const nodes = kept.map(i => trace.customdata[i]), marker = { ...trace.marker };
    if (Array.isArray(marker.color)) marker.color = kept.map(i => marker.color[i]);
    return { ...trace, marker, customdata: nodes, x: nodes.map(n => places[n][0]),
             y: nodes.map(n => places[n][1]), text: nodes.map(n => data.hover[n]) };
  }).filter(trace => trace.x.length);
}

function ring() {
  const nodes = [state.node, state.other].filter(Boolean).map(id => numbers.get(id));
  const { places, chosen } = scene();
  return { ...chosen, customdata: nodes, x: nodes.map(n => places[n][0]),
           y: nodes.map(n => places[n][1]), text: nodes.map(n => data.hover[n]) };
}

function drawMap() {
  const what = [state.map, state.layout, state.color, state.show].join(), at = scene();
  const figure = [...traces(), ...at.density[state.show], ...at.marks, ring()];
  if (what !== drawn) selected = null;
  drawn = what;
  $("sampled").textContent = data.sampled[state.show];
  Plotly.react("map", figure, { ...structuredClone(at.layout), annotations: at.labels[state.show] }, data.mapButtons);
}

function listed() {
  const shown = new Set(selected ?? data.filters[state.show]);
  return data.rows.order.filter(node => shown.has(node));
}

function pick(id) {
  const button = element("button", id, [], { type: "button" });
  button.onclick = () => change({ node: id });
  return button;
}

function row(first, others) {
  const cells = others.map(text => element("td", text, [], { title: text }));  // columns cut long ones
  return element("tr", null, [element("td", null, [first]), ...cells]);
}

function head(names) {
  return names.map(name => element("th", name, [], { scope: "col" }));
}

// Columns of a node's row: node, class, prediction, without localization, ..., strength.
function classRows(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    const cells = data.rows.cells[node];
    groups.set(cells[1], [...(groups.get(cells[1]) ?? []), cells]);
  }
  return [...groups].sort((one, two) => two[1].length - one[1].length).map(([name, rows]) => {
    const share = column => `${(100 * rows.filter(cells => cells[column] === name).length / rows.length).toFixed(1)}%`;
    const strength = rows.reduce((sum, cells) => sum + Number(cells.at(-1)), 0) / rows.length;
    const shares = name === "-" ? ["-", "-"] : [share(2), share(3)];
    const mean = Number.isFinite(strength) ? String(Number(strength.toPrecision(3))) : "-";
    return row(name === "-" ? "no label" : name, [rows.length.toLocaleString("en"), ...shares, mean]);
  });
}

function drawTable() {
  const nodes = listed(), what = data.shown[state.show].replace("all ", "");
  $("caption").textContent = `${nodes.length.toLocaleString("en")} ${what}${selected ? " in the lasso" : ""}`
    + (nodes.length > data.tableRows ? `; the first ${data.tableRows}, the most localized, are listed` : "");
  $("classes").replaceChildren(...classRows(nodes));
  $("body").replaceChildren(...nodes.slice(0, data.tableRows).map(node =>
    row(pick(data.ids[node]), data.rows.cells[node].slice(1))));
}

function members(id, rows) {
  const body = element("tbody", null, rows.map(([id, ...others]) => row(numbers.has(id) ? pick(id) : id, others)));
  const caption = element("caption", "Those that the edge level changes most come first");
  const heads = element("thead", null, [element("tr", null, head(data.memberColumns))]);
  return element("details", null, [element("summary", `The messages of node ${id} as a table`),
    element("div", null, [element("table", null, [caption, heads, body])], { class: "rows", tabindex: 0 })]);
}

function panel(id) {
  const found = data.details[id], title = element("h2", `Node ${id}`);
  if (!found) {
    const cells = data.rows.cells[numbers.get(id)] ?? [];
    const about = cells.map((text, i) => element("div", null,
      [element("dt", data.columns[i]), element("dd", text)]));
    const missing = element("p", "The details of this node are not in this file.");
    return element("section", null, [title, missing, element("dl", null, about)]);
  }
  const facts = Object.entries(found.facts).map(([name, text]) =>
    element("div", null, [element("dt", name), element("dd", text)]));
  const parts = Object.entries(found.figures).map(([key, figure]) => {
    const place = element("div", null, [], { style: `height: ${figure.layout.height}px` });
    const caption = element("figcaption", data.titles[key]);
    requestAnimationFrame(() => plot(place, key, structuredClone(figure)));
    return element("figure", null, [caption, place, element("p", found.notes[key], [], { class: "pale" })]);
  });
  return element("section", null, [title, element("p", found.sentence), element("dl", null, facts),
    element("div", null, parts, { class: "figures" }), members(id, found.members)], { "aria-label": `Node ${id}` });
}

function plot(place, key, figure) {
  Plotly.newPlot(place, figure.data, figure.layout, data.buttons);
  if (key === "neighborhood") place.on("plotly_click", event => {
    const id = event.points[0].customdata;
    if (numbers.has(id)) change({ node: id });
  });
}

function draw() {
  for (const [id, key] of [["map-of", "map"], ["laid", "layout"], ["color", "color"], ["show", "show"],
                           ["search", "node"], ["other", "other"]]) $(id).value = state[key];
  drawMap();
  drawTable();
  $("node").replaceChildren(...[state.node, state.other].filter(Boolean).map(panel));
}

function choices(id, key, known) {
  $(id).append(...Object.entries(known).map(([value, text]) => element("option", text, [], { value })));
  $(id).onchange = () => change({ [key]: $(id).value });
}

function search(id, key) {
  $(id).onchange = () => {
    const text = $(id).value.trim(), known = !text || numbers.has(text);
    $("message").textContent = known ? "" : `There is no node ${text}.`;
    if (known) change({ [key]: text });
  };
}

function save() {
  const quoted = text => `"${String(text).replaceAll('"', '""')}"`;
  const lines = [data.columns, ...listed().map(node => data.rows.cells[node])];
  const file = new Blob([lines.map(cells => cells.map(quoted).join(",")).join("\n") + "\n"], { type: "text/csv" });
  const link = element("a", "", [], { href: URL.createObjectURL(file), download: "nodes.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}

choices("map-of", "map", data.maps);
choices("laid", "layout", data.layouts);
choices("color", "color", data.colorings);
choices("show", "show", data.shown);
search("search", "node");
search("other", "other");
$("csv").onclick = save;
$("head").append(...head(data.columns));
$("class-head").append(...head(data.classColumns));
read();
draw();
window.addEventListener("hashchange", () => { read(); draw(); });
$("map").on("plotly_click", event => {
  const node = event.points[0].customdata;
  if (Number.isInteger(node)) change({ node: data.ids[node] });
});
$("map").on("plotly_selected", event => {
  if (event && !event.lassoPoints && !event.range) return;  // a map that is drawn anew repeats its last lasso
  selected = event ? event.points.map(point => point.customdata) : null;
  drawTable();
});
$("map").on("plotly_deselect", () => { selected = null; drawTable(); });
})();
