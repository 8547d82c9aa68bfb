// Shows the diagrams of messages as images. They are drawn in a frame of their own (diagrams.py), one after the other, as they
// come into sight, and for the colours that the page has. A diagram that cannot be drawn stays as its source, with the reason.
"use strict";

(() => {
  const meta = document.querySelector("meta[name=diagrams]");
  if (!meta) return; // there is no mermaid
  const folder = meta.content;
  const SECONDS = 10; // for one diagram
  const LOADING = 60; // seconds until mermaid is there, on a slow computer
  const LONGEST = 20_000; // characters of a source; what is longer could hold up browsers that give the frame no process of its own
  const LARGEST = 4_000_000; // characters of a drawing
  const KEPT = 100; // drawings that are remembered, so that a message that is drawn anew has them at once

  const outcomes = new Map(); // by colours and source
  const asSource = new Set(); // sources that the person wants to see as such
  const waiting = []; // keys to draw
  let frame = null; // its element, and whether its document and mermaid are there
  let current = null; // key that is being drawn
  let timer = 0;
  let number = 0;

  const sourceOf = (block) => block.querySelector("pre").textContent;
  const scheme = () => (document.body.classList.contains("body--dark") ? "dark" : "light");
  const keyOf = (block) => scheme() + " " + sourceOf(block);

  // Drawing

  function ask(key) {
    if (key === current || waiting.includes(key)) return;
    waiting.push(key);
    next();
  }

  function next() {
    if (current !== null || !waiting.length) return;
    current = waiting.shift();
    if (!frame) return begin();
    if (frame.ready) send();
  }

  function begin() {
    const element = Object.assign(document.createElement("iframe"), { src: folder + "frame.html", title: "Diagrams", tabIndex: -1, className: "drawing-frame" });
    element.setAttribute("sandbox", "allow-scripts");
    element.setAttribute("aria-hidden", "true");
    element.addEventListener("load", () => {
      // a second document means that a diagram sent the frame elsewhere, where the page's policy stopped it
      if (frame && frame.element === element && frame.loaded) end("it tried to leave its place");
      else if (frame) frame.loaded = true;
    });
    document.body.append(element);
    frame = { element, loaded: false, ready: false };
    limit(LOADING, "what draws diagrams could not be loaded");
  }

  function limit(seconds, why) {
    clearTimeout(timer);
    timer = setTimeout(end, seconds * 1000, why);
  }

  // Ends what runs in the frame; the next diagram gets a new one.
  function end(why) {
    clearTimeout(timer);
    frame.element.remove();
    frame = null;
    if (current !== null) settle({ why });
  }

  function send() {
    const style = getComputedStyle(document.body);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const colours = { dark: scheme() === "dark", tint: colour("accent-soft"), several: [0, 1, 2, 3, 4, 5, 6].map((n) => colour("c" + n)) };
    for (const name of ["ground", "raised", "ink", "soft", "line", "accent"]) colours[name] = colour(name);
    const source = current.slice(current.indexOf(" ") + 1);
    limit(SECONDS, `it takes longer than ${SECONDS} seconds`);
    frame.element.contentWindow.postMessage({ id: ++number, source, colours, font: style.fontFamily }, "*");
  }

  addEventListener("message", ({ data, source }) => {
    if (!frame || source !== frame.element.contentWindow || typeof data !== "object" || !data) return;
    if (data.ready && !frame.ready) {
      frame.ready = true;
      clearTimeout(timer);
      if (current !== null) send();
    } else if (data.id === number && current !== null) {
      clearTimeout(timer);
      settle(read(data));
    }
  });

  // The frame may be under the control of a diagram: what comes from it is a text of limited length and two numbers.
  function read({ svg, width, height, words, why }) {
    if (typeof svg !== "string") return { why: shortened(String(why)) };
    if (svg.length > LARGEST) return { why: "the drawing is too large" };
    const size = (given) => Math.min(Math.max(Math.round(Number(given)) || 1, 1), 20_000);
    try {
      const url = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
      return { url, width: size(width), height: size(height), words: String(words).slice(0, 300) };
    } catch {
      return { why: "the drawing holds broken characters" };
    }
  }

  // mermaid's errors are several lines, with a picture of the place
  function shortened(why) {
    const line = /on line (\d+)/.exec(why);
    if (line) return `line ${line[1]} cannot be read`;
    if (why.startsWith("No diagram type")) return "it begins with no kind of diagram";
    return why.split("\n")[0].slice(0, 200).replace(/\W+$/, "");
  }

  function settle(outcome) {
    const key = current;
    current = null;
    keep(key, outcome);
    for (const block of all(document)) if (keyOf(block) === key) show(block, outcome);
    next();
  }

  function keep(key, outcome) {
    outcomes.set(key, outcome);
    if (outcomes.size > KEPT) outcomes.delete(outcomes.keys().next().value);
  }

  // Showing

  const all = (root) => root.querySelectorAll(".messages .code[data-diagram]");

  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) look(target);
    },
    { rootMargin: "400px", scrollMargin: "400px" },
  );

  function outcomeOf(block) {
    if (sourceOf(block).length > LONGEST) return { why: `it is longer than ${LONGEST.toLocaleString("en")} characters` };
    return outcomes.get(keyOf(block));
  }

  function found(block) {
    if (!sourceOf(block).trim()) return;
    const known = outcomeOf(block);
    if (known) show(block, known);
    seen.observe(block);
  }

  function look(block) {
    const known = outcomeOf(block);
    if (known) show(block, known);
    else ask(keyOf(block));
  }

  function show(block, { url, width, height, words, why }) {
    block.querySelectorAll(".drawing, .undrawn, .as-source").forEach((each) => each.remove());
    block.querySelector(".language").textContent = block.dataset.diagram;
    if (why) {
      const note = document.createElement("p");
      note.className = "undrawn";
      note.textContent = `Not drawn: ${why}.`;
      const pre = block.querySelector("pre");
      pre.before(note);
      pre.hidden = false; // an earlier drawing stood in its place
      return;
    }
    const image = Object.assign(new Image(width, height), { src: url, alt: words });
    const drawing = document.createElement("div");
    drawing.className = "drawing";
    drawing.tabIndex = 0;
    drawing.style.setProperty("--width", width + "px");
    drawing.append(image);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy as-source";
    button.textContent = "Source";
    block.querySelector(".code-head .language").after(button);
    block.querySelector("pre").before(drawing);
    turn(block, asSource.has(sourceOf(block)));
  }

  function turn(block, toSource) {
    block.querySelector(".as-source").setAttribute("aria-pressed", String(toSource));
    block.querySelector(".drawing").hidden = toSource;
    block.querySelector("pre").hidden = !toSource;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".as-source");
    if (!button) return;
    const block = button.closest(".code"), source = sourceOf(block);
    const toSource = !asSource.delete(source);
    if (toSource) asSource.add(source);
    turn(block, toSource);
  });

  const begun = new WeakSet();
  new MutationObserver(() => {
    for (const block of all(document)) {
      if (begun.has(block)) continue;
      begun.add(block);
      found(block);
    }
  }).observe(document.documentElement, { childList: true, subtree: true });

  // other colours: those in sight are drawn anew, what was drawn stays until then
  let colours = "";
  new MutationObserver(() => {
    if (colours === scheme()) return;
    colours = scheme();
    for (const block of all(document)) {
      seen.unobserve(block);
      found(block);
    }
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
})();
