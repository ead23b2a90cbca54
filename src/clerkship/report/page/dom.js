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
  return String(path).split(/(?<=[./])/).map((part) => [part, el("wbr", {})]);
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

// Sentences name events as #12 and turns as [T2]; each that is in this page becomes a link to it.
function linked(text, trial) {
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
