"use strict";
// Charts that answer to the controls, a legend of buttons, and tables that sort.

const charts = JSON.parse(document.getElementById("charts").textContent);
const places = [...document.querySelectorAll(".chart")];
const keys = [...document.querySelectorAll(".key")];
const form = document.querySelector(".controls");
const told = document.getElementById("told");
const views = new Map();
let isolated = null;
let turn = 0;

// Ink is that of the page, whether it is light, dark or printed.
const config = {
  background: null,
  font: getComputedStyle(document.body).fontFamily,
  view: { stroke: null },
  text: { color: "currentColor", fontSize: 11, align: "left" },
  axis: {
    labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal",
    gridColor: "currentColor", gridOpacity: 0.15, domain: false, tickSize: 0,
    labelFontSize: 12, titleFontSize: 12, labelPadding: 6, titlePadding: 8,
  },
};

function logarithmic(part) {
  if (part === null || typeof part !== "object") return;
  const x = part.encoding?.x;
  if (x?.scale) {
    x.scale.type = "log";
    delete x.scale.zero;
    delete x.axis.tickCount;
    x.axis.labelExpr = charts.round;
  }
  Object.values(part).forEach(logarithmic);
}

async function chart(place, number) {
  const spec = structuredClone(charts.specs[form.elements.metric.value]);
  if (form.elements.axis.value === "log") logarithmic(spec);
  spec.datasets = structuredClone(charts.data[number]);
  spec.width = Math.max(220, Math.min(700, place.clientWidth - 110));
  spec.height = 300;
  const options = { renderer: "svg", actions: false, config, tooltip: { theme: "custom" } };
  const { view } = await vegaEmbed(place, spec, options);
  views.get(place)?.finalize();
  views.set(place, view);
  return view.signal("isolated", isolated).runAsync();
}

// One after the other, so that the first are seen at once; a later call ends an earlier one.
async function draw() {
  const own = ++turn;
  document.body.dataset.drawn = "no";
  for (const [number, place] of places.entries()) {
    await chart(place, number);
    if (own !== turn) return;
  }
  document.body.dataset.drawn = "yes";
}

function isolate(label) {
  isolated = isolated === label ? null : label;
  for (const key of keys) key.setAttribute("aria-pressed", key.dataset.label === isolated);
  for (const view of views.values()) view.signal("isolated", isolated).runAsync();
  told.textContent = isolated === null ? "All encodings are shown." : `Only ${isolated} is shown.`;
}

function missing(cell) {
  return cell.dataset.value === undefined && ["", charts.missing].includes(cell.textContent.trim());
}

function compare(one, other) {
  const [a, b] = [one, other].map((cell) => cell.dataset.value);
  if (a !== undefined && b !== undefined) return a - b;
  if (a !== undefined || b !== undefined) return a === undefined ? -1 : 1;
  return one.textContent.localeCompare(other.textContent, "en");
}

// Numbers fall at first, and words rise; what is missing stays below.
function sort(head) {
  const table = head.closest("table");
  const place = head.cellIndex;
  const [first, then] = head.classList.contains("word")
    ? ["ascending", "descending"] : ["descending", "ascending"];
  const order = head.getAttribute("aria-sort") === first ? then : first;
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((one, other) => {
    const [a, b] = [one.cells[place], other.cells[place]];
    return missing(a) - missing(b) || sign * compare(a, b);
  }));
}

form.addEventListener("change", draw);
for (const key of keys) key.addEventListener("click", () => isolate(key.dataset.label));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isolated !== null) isolate(isolated);
});
for (const head of document.querySelectorAll("th")) {
  head.firstElementChild.addEventListener("click", () => sort(head));
}
draw();
