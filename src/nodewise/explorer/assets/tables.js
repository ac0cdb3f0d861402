// Fills elements that have a data-table, and chooses the node of a button in it. A component of Dash's for each cell
// would slow every click: all components are asked after each change whether it concerns them.
"use strict";
(() => {
const filled = new WeakMap();

function element(tag, text, inner = []) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;  // names from the graph are never markup
  made.append(...inner);
  return made;
}

function cell(text) {
  const made = element("td", text);
  made.title = text;  // columns cut long ones
  return made;
}

function first(node, text) {
  if (node === null) return cell(text);
  const button = element("button", text);
  button.type = "button";
  button.dataset.node = node;
  return element("td", null, [button]);
}

function head(name) {
  const made = element("th", name);
  made.scope = "col";
  return made;
}

function fill(place) {
  const { caption, columns, rows } = JSON.parse(place.dataset.table);
  const lines = rows.map(([node, text, ...others]) => element("tr", null, [first(node, text), ...others.map(cell)]));
  const heads = element("thead", null, [element("tr", null, columns.map(head))]);
  place.replaceChildren(element("table", null, [element("caption", caption), heads, element("tbody", null, lines)]));
}

new MutationObserver(() => {
  for (const place of document.querySelectorAll("[data-table]")) {
    if (filled.get(place) === place.dataset.table) continue;
    filled.set(place, place.dataset.table);
    fill(place);
  }
}).observe(document, { attributes: true, attributeFilter: ["data-table"], childList: true, subtree: true });

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-node]");
  if (button) dash_clientside.set_props("picked", { data: [Number(button.dataset.node), event.timeStamp] });
});
})();
