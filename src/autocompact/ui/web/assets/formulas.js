// Draws the formulas of messages with KaTeX, which is loaded with the first one. It runs in a worker (formulas-worker.js), so that
// typing never waits for a formula, and one that would take for ever is given up. What cannot be drawn stays as its source.
"use strict";

(() => {
  const folder = new URL(".", document.currentScript.src).href;
  const SECONDS = 3; // for one formula
  const LOADING = 30; // seconds until KaTeX is there, on a slow computer
  const LARGEST = 300_000; // characters of a drawn formula
  const KEPT = 2_000; // formulas that are remembered, so that a message that is drawn anew has them at once

  const outcomes = new Map(); // by kind and source: what is shown, or why nothing is
  const asked = new Map(); // by kind and source: what the worker was asked and has not answered, in this order
  let worker = null;
  let timer = 0;

  const isDisplayed = (math) => math.parentElement.matches(".formula");
  const keyOf = (source) => (isDisplayed(source) ? "block " : "inline ") + source.textContent;

  // Drawing

  function ask(key, question) {
    if (asked.has(key)) return;
    asked.set(key, question);
    if (!worker) return begin();
    worker.postMessage(question);
    if (asked.size === 1) limit(SECONDS);
  }

  function begin() {
    worker = new Worker(folder + "formulas-worker.js");
    worker.addEventListener("message", ({ data }) => answered(data));
    worker.addEventListener("error", () => {
      end();
      for (const key of [...asked.keys()]) settle(key, { why: "KaTeX could not be loaded" });
    });
    for (const question of asked.values()) worker.postMessage(question);
    limit(LOADING);
  }

  function limit(seconds) {
    clearTimeout(timer);
    if (asked.size) timer = setTimeout(giveUp, seconds * 1000);
  }

  // Gives up the formula that the worker is at; those behind it go to a new one.
  function giveUp() {
    end();
    settle(asked.keys().next().value, { why: "it takes too long" });
    if (asked.size) begin();
  }

  function end() {
    clearTimeout(timer);
    worker.terminate();
    worker = null;
  }

  function answered({ key, html, why }) {
    settle(key, why ? { why } : read(html));
    limit(SECONDS);
  }

  // KaTeX was asked to trust nothing. What it made is looked at all the same: signs and lines, no link, address or script.
  const KNOWN = { xhtml: /^span$/, svg: /^(svg|g|path|line)$/, MathML: /^(math|semantics|annotation|m(?!action|glyph)[a-z]+)$/ };
  const XHTML = "http://www.w3.org/1999/xhtml";

  function read(html) {
    if (html.length > LARGEST) return { why: "it is too large" };
    // as XML: what KaTeX puts into a sign (\stackrel, \bmod) would be elements of HTML by the rules of HTML
    const made = new DOMParser().parseFromString(`<span xmlns="${XHTML}">${html}</span>`, "application/xml").documentElement;
    for (const element of [made, ...made.querySelectorAll("*")]) {
      const known = KNOWN[element.namespaceURI?.split("/").at(-1)]?.test(element.localName);
      if (!known || element.getAttributeNames().some((name) => /^on|href|src|^id$|^name$/.test(name))) return { why: "it is more than a formula" };
    }
    made.querySelectorAll("mi, mo, mn, mtext").forEach(spread);
    const drawn = document.createDocumentFragment();
    drawn.append(...made.childNodes);
    return { drawn };
  }

  // A sign that has parts is read out as the row of them.
  function spread(sign) {
    if (!sign.firstElementChild) return;
    const row = document.createElementNS(sign.namespaceURI, "mrow");
    row.append(...sign.childNodes);
    sign.replaceWith(row);
  }

  function settle(key, outcome) {
    asked.delete(key);
    outcomes.set(key, outcome);
    if (outcomes.size > KEPT) outcomes.delete(outcomes.keys().next().value);
    plan();
  }

  // Showing

  const sources = document.getElementsByClassName("math"); // what is not drawn yet
  let style = null; // the element of KaTeX's styles
  let styled = false;
  let planned = false;

  // Answers come one by one: all that came until the next picture are shown at once.
  function plan() {
    if (planned || !styled) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      look();
    });
  }

  function load() {
    style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: folder + "katex/katex.min.css" });
    style.addEventListener("load", () => {
      styled = true;
      plan();
    });
    document.head.append(style);
  }

  // Only those within a screen of what is in sight: an answer with hundreds of formulas is drawn anew with each piece that comes.
  function look() {
    if (!style) load();
    const [from, to] = [-innerHeight, 2 * innerHeight];
    const shown = [];
    for (const [source, { top, bottom }] of [...sources].map((each) => [each, each.getBoundingClientRect()])) {
      if (bottom < from || top > to) approached.observe(source);
      else shown.push(...drawnNow(source));
    }
    fit(shown);
    for (const each of shown) columns.observe(each.closest(".prose"));
  }

  // What now stands in the place of a source; nothing if it has to be waited for.
  function drawnNow(source) {
    const key = keyOf(source), outcome = outcomes.get(key);
    if (!outcome) ask(key, { key, latex: source.textContent, displayed: isDisplayed(source) });
    return outcome && styled ? [show(source, outcome)] : [];
  }

  const approached = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && look(), {
    rootMargin: "100%",
    scrollMargin: "100%",
  });

  function show(source, { drawn, why }) {
    approached.unobserve(source);
    if (why) {
      source.classList.remove("math");
      source.title = `Not drawn: ${why}`;
      return source;
    }
    const math = document.createElement("span");
    math.className = "drawn-math";
    math.dataset.latex = source.textContent;
    math.dataset.mark = source.parentElement.matches(".environment") ? "" : isDisplayed(source) ? "$$" : "$";
    math.append(drawn.cloneNode(true));
    source.replaceWith(math);
    return math;
  }

  // A formula among words breaks into lines between its parts. One with a part that is wider than the column scrolls.
  function fit(formulas) {
    const among = formulas.filter((each) => each.matches("span.drawn-math") && !isDisplayed(each));
    for (const each of among) each.classList.remove("wide");
    const wide = among.filter((each) => {
      const column = each.closest("p, li, blockquote, h2, h3, h4, h5, h6, .prose").clientWidth;
      return column && [...each.querySelectorAll(".katex-base")].some((part) => part.offsetWidth > column);
    });
    for (const each of wide) {
      each.classList.add("wide");
      each.tabIndex = 0; // what scrolls can be reached by keyboard
    }
  }

  const widths = new WeakMap();
  const columns = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      if (widths.get(target) === target.clientWidth) continue;
      widths.set(target, target.clientWidth);
      fit([...target.querySelectorAll(".drawn-math")]);
    }
  });

  const holdsSource = (node) => node.nodeType === 1 && (node.matches("code.math") || node.querySelector("code.math"));

  new MutationObserver((changes) => {
    if (sources.length && changes.some(({ addedNodes }) => [...addedNodes].some(holdsSource))) look();
  }).observe(document.documentElement, { childList: true, subtree: true });

  // Copying: what is selected has its formulas as they were written, between the marks that Markdown knows them by.

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0).cloneRange();
    const around = (node) => (node.nodeType === 1 ? node : node.parentElement).closest(".drawn-math");
    const [first, last] = [around(range.startContainer), around(range.endContainer)];
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const copy = document.createElement("div");
    copy.className = "copied-words";
    copy.append(range.cloneContents());
    const formulas = copy.querySelectorAll(".drawn-math");
    if (!formulas.length) return;
    for (const each of formulas) each.textContent = each.dataset.mark + each.dataset.latex + each.dataset.mark;
    document.body.append(copy); // only what is laid out has lines
    event.clipboardData.setData("text/plain", copy.innerText);
    event.clipboardData.setData("text/html", copy.innerHTML);
    copy.remove();
    event.preventDefault();
  });
})();
