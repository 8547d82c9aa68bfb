// Draws formulas for formulas.js. Who wrote them is not known: KaTeX may make no link and load nothing, and its macros and sizes
// have limits.
"use strict";

importScripts("katex/katex.min.js");

const OPTIONS = {
  output: "htmlAndMathml", // the one is seen, the other read out
  trust: ({ command }) => {
    throw new Error(`${command} is not allowed`); // false would leave the command's name in its place
  },
  strict: "ignore",
  maxSize: 30,
  maxExpand: 1_000,
  errorColor: "currentColor",
};

// What KaTeX does not know, and what looks most like it.
const ENVIRONMENTS = {
  displaymath: "equation*",
  eqnarray: "align*",
  "eqnarray*": "align*",
  flalign: "align",
  "flalign*": "align*",
  multline: "gather*",
  "multline*": "gather*",
};
const CHEMISTRY = /\\(ce|pu)(?![a-zA-Z])/;
let chemistry = false; // the part of KaTeX that knows chemistry is there
const CONTROL = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // what XML has no place for
const known = (latex) =>
  latex.replace(CONTROL, "").replace(/\\(begin|end)\{([a-z]+\*?)\}/g, (all, side, name) => (ENVIRONMENTS[name] ? `\\${side}{${ENVIRONMENTS[name]}}` : all));

addEventListener("message", ({ data: { key, latex, displayed } }) => {
  // names of formulas are for references, which a message has none of
  const macros = { "\\label": (context) => (context.consumeArgs(1), "") };
  try {
    if (!chemistry && CHEMISTRY.test(latex)) {
      importScripts("katex/mhchem.min.js");
      chemistry = true;
    }
    postMessage({ key, html: katex.renderToString(known(latex), { ...OPTIONS, displayMode: displayed, macros }) });
  } catch (error) {
    postMessage({ key, why: error.message.replace(/^KaTeX parse error: /, "").slice(0, 200) });
  }
});
