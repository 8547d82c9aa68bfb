// Draws diagrams for the page that this frame is in: their source comes as a message, the drawing goes back as text.
// What is drawn was written by anybody. The frame has no origin and no network (see diagrams.py), so nothing here is a secret.
import { mermaid } from "./mermaid/index.js";

const WORDS = 300; // characters of the words in a diagram that its description repeats

// What a diagram cannot change by settings in its first lines.
const FIXED = {
  startOnLoad: false,
  securityLevel: "strict",
  htmlLabels: false,
  suppressErrorRendering: true,
  maxTextSize: 50_000,
  maxEdges: 500,
  // without HTML in labels mermaid 11.16 lets the words of some shapes begin at their middle
  themeCSS: '.mindmap-node > .label[transform^="translate(0,"] text { text-anchor: middle; }',
  dompurifyConfig: {},
};

function themed({ dark, ground, raised, ink, soft, line, accent, tint, several }, font) {
  const variables = {
    darkMode: dark,
    background: ground,
    fontFamily: font,
    fontSize: "15px",
    primaryColor: tint,
    primaryTextColor: ink,
    primaryBorderColor: accent,
    secondaryColor: raised,
    tertiaryColor: ground,
    lineColor: soft,
    textColor: ink,
    noteBkgColor: raised,
    noteTextColor: ink,
    noteBorderColor: line,
    edgeLabelBackground: raised,
    pieStrokeColor: raised,
    pieOuterStrokeColor: line,
    pieOpacity: "1",
    pieSectionTextColor: ink,
    quadrantPointFill: accent,
    gridColor: line,
  };
  // as many colours as mermaid has, each pale enough for words on it
  for (let n = 0; n < 12; n++) {
    const pale = mixed(several[n % several.length], raised, 0.4);
    Object.assign(variables, { [`pie${n + 1}`]: pale, [`cScale${n}`]: pale, [`cScaleLabel${n}`]: ink, [`cScaleInv${n}`]: soft });
    if (n < 8) Object.assign(variables, { [`git${n}`]: several[n % several.length], [`gitBranchLabel${n}`]: ground });
  }
  return variables;
}

function mixed(one, other, share) {
  const [first, second] = [one, other].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return "#" + first.map((each, n) => Math.round(each * share + second[n] * (1 - share)).toString(16).padStart(2, "0")).join("");
}

async function draw({ id, source, colours, font }) {
  mermaid.initialize({
    ...FIXED,
    secure: ["secure", ...Object.keys(FIXED)],
    theme: "base",
    themeVariables: themed(colours, font),
    fontFamily: font,
  });
  const { svg, diagramType } = await mermaid.render("d" + id, source);
  // as HTML it may lack what an image has to have: ends of elements, quotes, a size
  const root = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const [, , width, height] = root.getAttribute("viewBox").split(/[\s,]+/).map(Number);
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  const title = root.querySelector(":scope > title");
  const texts = title ? [title] : [...root.querySelectorAll("text")];
  const words = texts.map((each) => each.textContent.trim()).filter(Boolean).join(", ");
  return { svg: new XMLSerializer().serializeToString(root), width, height, words: `${diagramType}: ${words}`.slice(0, WORDS) };
}

addEventListener("message", async ({ data, source }) => {
  if (source !== parent) return;
  let outcome;
  try {
    outcome = await draw(data);
  } catch (error) {
    outcome = { why: String((error && error.message) || error) };
  }
  document.body.replaceChildren(); // what a drawing that failed leaves behind
  parent.postMessage({ id: data.id, ...outcome }, "*");
});
parent.postMessage({ ready: true }, "*");
