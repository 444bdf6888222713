"use strict";
// Charts that answer to the controls, a legend of buttons, and tables that sort.

const charts = JSON.parse(document.getElementById("charts").textContent);
const places = [...document.querySelectorAll(".chart")];
const keys = [...document.querySelectorAll(".key")];
const form = document.querySelector(".controls");
let isolated = null;
let views = [];

// Ink is that of the page, whether it is light, dark or printed.
const config = {
  background: null,
  font: "inherit",
  view: { stroke: null },
  text: { color: "currentColor", fontSize: 10, align: "left" },
  axis: {
    labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal",
    gridColor: "currentColor", gridOpacity: 0.15, domain: false, tickSize: 0,
    labelFontSize: 11, titleFontSize: 12, labelPadding: 6, titlePadding: 8,
  },
  title: { color: "currentColor", subtitleColor: "currentColor", anchor: "start", fontSize: 13 },
};

function rows(columns) {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_, k) =>
    Object.fromEntries(names.map((name) => [name, columns[name][k]])));
}

function datasets(chart) {
  const found = Object.fromEntries(
    Object.entries(chart.data).map(([name, columns]) => [name, rows(columns)]));
  for (const seed of found.seeds) seed.href = chart.folders[seed.label]?.[seed.seed];
  return found;
}

function logarithmic(part) {
  if (part === null || typeof part !== "object") return;
  const x = part.encoding?.x;
  if (x?.scale) x.scale.type = "log";
  Object.values(part).forEach(logarithmic);
}

async function draw() {
  const metric = form.elements.metric.value;
  const drawn = charts.map(async (chart, k) => {
    const spec = structuredClone(chart.specs[metric]);
    if (form.elements.axis.value === "log") logarithmic(spec);
    spec.datasets = datasets(chart);
    spec.width = Math.max(240, Math.min(620, places[k].clientWidth - 110));
    spec.height = 300;
    const options = { renderer: "svg", actions: false, config, tooltip: { theme: "custom" } };
    return (await vegaEmbed(places[k], spec, options)).view;
  });
  const before = views;
  views = await Promise.all(drawn);
  before.forEach((view) => view.finalize());
  show();
}

function show() {
  for (const key of keys) key.setAttribute("aria-pressed", key.dataset.label === isolated);
  for (const view of views) view.signal("isolated", isolated).runAsync();
}

function isolate(label) {
  isolated = isolated === label ? null : label;
  show();
}

function compare(one, other) {
  const [a, b] = [one, other].map((cell) => cell.dataset.value);
  if (a !== undefined && b !== undefined) return a - b;
  return one.textContent.localeCompare(other.textContent, "en");
}

function sort(head) {
  const table = head.closest("table");
  const place = [...head.parentNode.children].indexOf(head);
  const falls = head.getAttribute("aria-sort") === "descending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "ascending" : "descending");
  const sign = falls ? 1 : -1;
  const body = table.tBodies[0];
  const missing = (cell) => cell.dataset.value === undefined && ["–", ""].includes(cell.textContent);
  const ordered = [...body.rows].sort((one, other) => {
    const [a, b] = [one.cells[place], other.cells[place]];
    return missing(a) - missing(b) || sign * compare(a, b);
  });
  body.append(...ordered);
}

form.addEventListener("change", draw);
for (const key of keys) key.addEventListener("click", () => isolate(key.dataset.label));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isolated !== null) isolate(isolated);
});
for (const head of document.querySelectorAll("th")) {
  head.querySelector("button").addEventListener("click", () => sort(head));
}
draw();
