"use strict";
// the drawing's, in its own units
const LEFT = 58, RIGHT = 8, TOP = 14, BOTTOM = 238;
const names = ["fixed", "summary", "masked", "kept", "new"];
const words = ["system prompt and tools", "summary", "masked", "kept from before", "new since"];

function choose(session, policy) {
  for (const part of session.querySelectorAll("[data-shows]")) part.hidden = part.dataset.shows !== policy;
  for (const part of session.querySelectorAll("tr[data-policy], .cost[data-policy]")) {
    part.classList.toggle("chosen", part.dataset.policy === policy);
  }
  for (const line of session.querySelectorAll(".cost.other, .cost.chosen")) line.parentNode.append(line);
  session.querySelector("select").value = policy;
}

function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low && wanted - values[low - 1] < values[low] - wanted ? low - 1 : low;
}

function row(kind, text) {
  const line = document.createElement("div");
  if (kind) { const key = document.createElement("i"); key.className = kind; line.append(key); }
  line.append(text);
  return line;
}

const tokens = (value) => value.toLocaleString("en");
const dollars = (value) => `$${value.toFixed(value && value < 0.1 ? 4 : 2)}`;

// `shown` makes what the tip says of a point, from its index and the height of the pointer in the drawing
function hover(chart, requests, shown, gone = () => {}) {
  const svg = chart.querySelector("svg"), last = requests.at(-1);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; chart.append(tip);
  const cursor = element("line", { class: "cursor", y1: TOP, y2: BOTTOM });
  cursor.style.display = "none"; svg.append(cursor);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; cursor.style.display = "none"; gone(); });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const place = (event.clientX - box.left) / box.width * width;
    const found = nearest(requests, 1 + (place - LEFT) / (width - LEFT - RIGHT) * (last - 1));
    tip.replaceChildren(...shown(found, (event.clientY - box.top) / box.height * height));
    const x = LEFT + (width - LEFT - RIGHT) * (requests[found] - 1) / Math.max(1, last - 1);
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x); cursor.style.display = "";
    tip.hidden = false;
    const right = x / width * box.width + 12, side = right + tip.offsetWidth <= box.width ? right : right - 24 - tip.offsetWidth;
    tip.style.left = `${Math.max(0, side)}px`; tip.style.top = "1.2rem";
  });
}

function contextTip(data, found) {
  const layers = data.layers[found], failed = data.failed[found], paid = data.paid[found];
  const total = layers.reduce((sum, value) => sum + value, 0);
  const money = paid === null ? "" : `, ${failed ? "" : `${dollars(paid)}, `}${dollars(data.cost[found])} so far`;
  const lines = [row("", `request ${tokens(data.request[found])}: ${failed ? "fails" : `${tokens(total)} tokens`}${money}`)];
  if (!failed) names.forEach((name, index) => {
    if (layers[index]) lines.push(row(name, `${tokens(layers[index])} ${words[index]}`));
  });
  return [...lines, ...reason(data.reasons[found])];
}

function reason(text) {
  if (!text) return [];
  const line = document.createElement("p");
  line.append(text);
  return [line];
}

// every policy at one request; in words the one whose line the pointer is at, else the chosen one
function moneyTip(data, found, named) {
  const table = document.createElement("table");
  const cells = (kind, ...texts) => {
    const line = table.insertRow();
    line.className = kind;
    for (const text of texts) line.insertCell().append(text);
  };
  cells("head", `request ${tokens(data.request[found])}`, "this one", "so far", "");
  data.policies.forEach((policy, index) => cells(
    index === named ? "named" : "", policy.name, policy.failed[found] ? "-" : dollars(policy.paid[found]),
    dollars(policy.cost[found]), (policy.reasons[found] ?? "").split(":")[0],
  ));
  const policy = data.policies[named];
  const read = policy.failed[found] ? "" : `${tokens(policy.written[found])} tokens paid for in full, ${tokens(policy.read[found])} from the cache`;
  return [table, ...reason(`${policy.name}: ${policy.reasons[found] ?? read}`)];
}

function moneyHover(session, chart, data) {
  const lines = [...chart.querySelectorAll(".cost")];
  const mark = (near) => lines.forEach((line) => line.classList.toggle("near", line.dataset.policy === String(near)));
  let near = -1;
  hover(chart, data.request, (found, y) => {
    const away = data.policies.map((policy) => Math.abs(BOTTOM - (BOTTOM - TOP) * policy.cost[found] / data.most - y));
    const least = Math.min(...away);
    near = least <= 8 ? away.indexOf(least) : -1;
    mark(near);
    return moneyTip(data, found, near < 0 ? Number(session.querySelector("select").value) : near);
  }, () => mark(near = -1));
  chart.querySelector("svg").addEventListener("click", () => { if (near >= 0) choose(session, String(near)); });
}

const HEAD = 28, FOOT = 28;

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function drawing(svg) {
  const copy = svg.cloneNode(true);
  const wanted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "opacity", "font", "display", "transform"];
  const from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of wanted) to[index].style.setProperty(name, style.getPropertyValue(name));
  });
  const [, , width, drawn] = svg.getAttribute("viewBox").split(" ").map(Number);
  const keys = [...svg.parentNode.querySelectorAll("figcaption span")];
  const height = HEAD + drawn + (keys.length ? FOOT : 0);
  copy.setAttribute("viewBox", `0 ${-HEAD} ${width} ${height}`);
  copy.prepend(element("rect", { y: -HEAD, width, height, fill: getComputedStyle(document.body).backgroundColor }));
  // outside of the page nothing else says what the picture shows
  const ink = { fill: getComputedStyle(document.body).color, "font-family": "system-ui, sans-serif" };
  copy.append(element("text", { ...ink, x: 8, y: -9, "font-size": 14, "font-weight": 600 }, svg.getAttribute("aria-label")));
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "12px system-ui, sans-serif";
  let x = 8;
  for (const key of keys) {
    copy.append(element("rect", { x, y: drawn + 7, width: 10, height: 10, fill: getComputedStyle(key.querySelector("i")).backgroundColor }));
    copy.append(element("text", { ...ink, x: x + 15, y: drawn + 16, "font-size": 12 }, key.textContent));
    x += 32 + pen.measureText(key.textContent).width;
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width); copy.setAttribute("height", height);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob); link.download = name; link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function asPng(made, done) {
  const image = new Image(), canvas = document.createElement("canvas");
  canvas.width = made.width * 2; canvas.height = made.height * 2;
  image.onload = () => {
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(done, "image/png");
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(made.text);
}

for (const session of document.querySelectorAll(".session")) {
  const data = JSON.parse(session.querySelector("script[type='application/json']").textContent);
  session.querySelector("select").addEventListener("change", (event) => choose(session, event.target.value));
  for (const line of session.querySelectorAll("tr[data-policy]")) line.addEventListener("click", () => choose(session, line.dataset.policy));
  for (const chart of session.querySelectorAll(".chart[data-shows]")) {
    const shown = data.contexts[Number(chart.dataset.shows)];
    hover(chart, shown.request, (found) => contextTip(shown, found));
  }
  for (const chart of session.querySelectorAll(".chart.money")) moneyHover(session, chart, data.costs);
  for (const button of session.querySelectorAll("button[data-save]")) button.addEventListener("click", () => {
    const svg = [...session.querySelectorAll(`.chart.${button.dataset.of}`)].find((chart) => !chart.hidden).querySelector("svg");
    const made = drawing(svg), name = `what-if-${button.dataset.of}`;
    if (button.dataset.save === "svg") save(new Blob([made.text], { type: "image/svg+xml" }), `${name}.svg`);
    else asPng(made, (blob) => save(blob, `${name}.png`));
  });
  choose(session, session.querySelector("select").value);
}
