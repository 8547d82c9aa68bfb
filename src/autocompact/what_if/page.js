"use strict";
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

function hover(chart, data) {
  const svg = chart.querySelector("svg");
  const [, , width] = svg.getAttribute("viewBox").split(" ").map(Number);
  const left = 58, right = 8, last = Number(chart.dataset.last);
  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; chart.append(tip);
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.setAttribute("class", "cursor"); cursor.setAttribute("y1", 14); cursor.setAttribute("y2", 238);
  cursor.style.display = "none"; svg.append(cursor);
  const hide = () => { tip.hidden = true; cursor.style.display = "none"; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const place = (event.clientX - box.left) / box.width * width;
    const found = nearest(data.request, 1 + (place - left) / (width - left - right) * (last - 1));
    const request = data.request[found], layers = data.layers[found];
    const total = layers.reduce((sum, value) => sum + value, 0);
    const money = data.cost[found] === null ? "" : `, $${data.cost[found].toFixed(2)} so far`;
    const title = `request ${request.toLocaleString("en")}: ${data.failed[found] ? "fails" : total.toLocaleString("en") + " tokens"}${money}`;
    tip.replaceChildren(row("", title));
    if (!data.failed[found]) names.forEach((name, index) => {
      if (layers[index]) tip.append(row(name, `${layers[index].toLocaleString("en")} ${words[index]}`));
    });
    const x = left + (width - left - right) * (request - 1) / Math.max(1, last - 1);
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x); cursor.style.display = "";
    tip.hidden = false;
    const shown = Math.min(Math.max(0, x / width * box.width + 12), Math.max(0, box.width - tip.offsetWidth));
    tip.style.left = `${shown}px`; tip.style.top = "1.2rem";
  });
}

const HEAD = 28, FOOT = 28;

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function drawing(svg) {
  const copy = svg.cloneNode(true), wanted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font", "display"];
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
  for (const chart of session.querySelectorAll(".chart[data-shows]")) hover(chart, data[Number(chart.dataset.shows)]);
  for (const button of session.querySelectorAll("button[data-save]")) button.addEventListener("click", () => {
    const svg = [...session.querySelectorAll(`.chart.${button.dataset.of}`)].find((chart) => !chart.hidden).querySelector("svg");
    const made = drawing(svg), name = `what-if-${button.dataset.of}`;
    if (button.dataset.save === "svg") save(new Blob([made.text], { type: "image/svg+xml" }), `${name}.svg`);
    else asPng(made, (blob) => save(blob, `${name}.png`));
  });
  choose(session, session.querySelector("select").value);
}
