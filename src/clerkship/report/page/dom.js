"use strict";
// Making elements. Text only ever becomes a text node: nothing in this page is parsed as HTML.

const SVG = document.querySelector("svg").namespaceURI;
const DATA = JSON.parse(document.getElementById("data").textContent);

function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}

// A path may go on in the next line behind a dot or a slash, rather than inside a word.
function breakable(path) {
  const broken = (text) => text.split(/(?<=[./])/).map((part) => [part, el("wbr", {})]);
  return coded(String(path), broken, broken);
}

function badge(text, kind, title) {
  return el("span", { class: `badge ${kind || ""}`, title }, text);
}

function verdictWord(outcome) {
  return (DATA.outcomes[outcome] || [outcome])[0];
}

function plural(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function copyButton(text, what) {
  const button = el("button", { type: "button", class: "quiet", "aria-label": `Copy ${what}` }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "select and copy";
    }
  });
  return button;
}

// A block between three backticks, or a span of one line between one; the second backtick may be cut off.
const CODE = /```(?:[\w+-]*\n)?([\s\S]+?)```|`([^`\n]+)`|`([^`\n]*…)$/g;

// Text in backticks is shown as code; `plain` is called for the rest, `inside` for the code itself.
function coded(text, plain = (part) => part, inside = (part) => part) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(CODE)) {
    parts.push(plain(text.slice(end, found.index)), el("code", {}, inside(found[1] || found[2] || found[3])));
    end = found.index + found[0].length;
  }
  return [...parts, plain(text.slice(end))];
}

// For an attribute, which holds no elements.
function plainText(text) {
  return text.replace(CODE, (_, block, span, cut) => block || span || cut);
}

// Sentences name events as #12 and turns as [T2]; each that is in this page becomes a link to it.
function linked(text, trial) {
  return coded(text, (plain) => linkedPlain(plain, trial));
}

function linkedPlain(text, trial) {
  return text.split(/(#\d+|\[T\d+(?:\.\d+)?\])/).map((part) => {
    const turn = /^\[T(\d+)(?:\.\d+)?\]$/.exec(part);
    const seq = turn ? turnStart(trial, Number(turn[1])) : /^#\d+$/.test(part) ? Number(part.slice(1)) : null;
    return seq !== null && trial.bySeq.has(seq) ? eventLink(trial, seq, part) : part;
  });
}

// A turn begins with a line that the agent did not write.
function turnStart(trial, turn) {
  const begun = trial.log.filter((event) => event.kind === "voice.far_end.spoke" || (isMessage(event) && event.actor !== "agent" && !(event.payload.header && event.kind.endsWith(".sent"))));
  return turn > 0 && begun.length >= turn ? begun[turn - 1].seq : null;
}

function eventLink(trial, seq, text) {
  if (!trial.bySeq.has(seq)) return el("span", { class: "muted" }, text || `#${seq}`);
  return el("a", { href: `#t${trial.number}e${seq}`, class: "seq" }, text || `#${seq}`);
}
