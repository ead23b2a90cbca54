// Every event in the order it happened, one lane per source, with an arrow from what caused it.

const MOST_ROWS = 300;
const GAP = 60;
const TROUBLES = [
  [/^person\.broke_contract$/, { word: "out of role", icon: "invalid_person", kind: "refused" }],
  [/(^|\.)(refused|objected)$/, { word: "refused", icon: "cancelled", kind: "refused" }],
  [/^fault\./, { word: "fault injected", icon: "fault", kind: "fault" }],
  [/(^|\.)failed$/, { word: "failed", icon: "errored", kind: "failed" }],
];

function trouble(event) {
  const found = TROUBLES.find(([pattern]) => pattern.test(event.kind));
  return found ? found[1] : null;
}

function timelineSection(trial) {
  if (!trial.log.length) return el("section", {}, el("h3", {}, "Timeline"), leftOut(trial));
  const lanes = [...new Set(trial.log.map((event) => event.source))];
  const rows = el("ol", { class: "events" });
  const view = { trial, lanes, rows, drawn: 0, shut: new Set(), arrows: svg("svg", { class: "arrows", "aria-hidden": "true" }) };
  const more = el("button", { type: "button", class: "more", click: () => draw(view, view.drawn + MOST_ROWS) });
  view.more = more;
  trial.timeline = view;
  const frame = el("div", { class: "timeline" }, laneHeads(view), rows, view.arrows);
  frame.style.setProperty("--lanes", lanes.length);
  if (lanes.length > 5) frame.classList.add("crowded");
  draw(view, MOST_ROWS);
  new ResizeObserver(() => drawArrows(view)).observe(rows);
  return el("section", {},
    el("div", { class: "heading" }, el("h3", {}, "Timeline"), el("span", { class: "muted" }, span(trial))),
    legend(trial), frame, more, trial.log.length < trial.body.events ? leftOut(trial) : null);
}

function span(trial) {
  const first = trial.log[0].at;
  const seconds = (Date.parse(trial.log.at(-1).at) - Date.parse(first)) / 1000;
  return `${plural(trial.log.length, "event")} over ${lasting(seconds)} of simulated time, from ${moment(trial, first)}`;
}

function legend(trial) {
  const kinds = new Set(trial.log.map((event) => trouble(event)).filter(Boolean));
  return el("p", { class: "legend muted" },
    el("span", {}, el("i", { class: "dot by-agent" }), "done by the agent"),
    el("span", {}, el("i", { class: "dot" }), "by others"),
    [...kinds].map((kind) => el("span", { class: kind.kind }, icon(kind.icon), kind.word)));
}

function leftOut(trial) {
  const missing = trial.body.events - trial.log.length;
  const task = /^[\w.\/-]+$/.test(trial.task) ? trial.task : `'${trial.task.replaceAll("'", `'\\''`)}'`;
  const which = trial.trial > 1 ? ` --trial ${trial.trial}` : "";
  return el("p", { class: "left-out" },
    `${plural(missing, "event")} not shown, to keep the page small; `,
    el("code", {}, `${DATA.command} show ${DATA.run} ${task}${which} --events`), ` prints ${missing === 1 ? "it" : "them"}.`);
}

// A lane's name is a button: press it to fold the lane's events away.
function laneHeads(view) {
  const heads = view.lanes.map((lane) => {
    const button = el("button", { type: "button", "aria-pressed": "true", title: `Show or hide ${lane}` }, lane);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(open));
      if (open) view.shut.delete(lane);
      else view.shut.add(lane);
      for (const row of view.rows.querySelectorAll(".event")) row.hidden = view.shut.has(row.dataset.lane);
      drawArrows(view);
    });
    return button;
  });
  return el("div", { class: "lanes", role: "group", "aria-label": "Lanes" }, heads);
}

function draw(view, until) {
  const { trial, rows } = view;
  const end = Math.min(until, trial.log.length);
  for (; view.drawn < end; view.drawn += 1) {
    const event = trial.log[view.drawn];
    rows.append(...[gap(trial, trial.log[view.drawn - 1], event), eventRow(view, event)].filter(Boolean));
  }
  const left = trial.log.length - view.drawn;
  view.more.hidden = left === 0;
  view.more.textContent = `Show ${Math.min(left, MOST_ROWS)} more of ${plural(left, "event")}`;
}

function gap(trial, before, event) {
  const seconds = before ? (Date.parse(event.at) - Date.parse(before.at)) / 1000 : 0;
  if (seconds < GAP) return null;
  const date = day(trial, before.at) === day(trial, event.at) ? "" : `, to ${day(trial, event.at)}`;
  return el("li", { class: "gap" }, el("span", {}, `${lasting(seconds)} pass${date}`));
}

function eventRow(view, event) {
  const { trial } = view;
  const odd = trouble(event);
  const panel = el("div", { class: "panel", hidden: true });
  const toggle = el("button", { type: "button", class: "toggle", "aria-expanded": "false" },
    el("span", { class: "number" }, `#${event.seq}`),
    el("span", { class: "lane" }, event.source),
    odd ? el("span", { class: `badge ${odd.kind}` }, icon(odd.icon), odd.word) : null,
    el("code", {}, event.kind), " ",
    el("span", { class: "gist" }, faxGist(event) || event.line || summary(event.payload)));
  toggle.addEventListener("click", () => openEvent(view, event, panel.hidden));
  const [showPage, pageHolder] = sitePage(event);
  const row = el("li", {
    class: `event ${odd ? odd.kind : ""}`,
    id: `t${trial.number}e${event.seq}`,
    "data-lane": event.source,
    hidden: view.shut.has(event.source),
  },
    timeElement(trial, event.at),
    track(view, event, odd),
    el("div", { class: "what" }, toggle, because(trial, event), citedBy(trial, event.seq), faxThumbnails(trial, event), showPage, panel),
    pageHolder);
  event.row = row;
  return row;
}

function track(view, event, odd) {
  const dot = odd
    ? el("i", { class: `mark ${odd.kind}` }, icon(odd.icon))
    : el("i", { class: `dot ${event.by_agent ? "by-agent" : ""}` });
  const cell = el("span", { class: "track", title: `${event.source}, by ${doer(event)}` }, dot);
  cell.style.setProperty("--lane", view.lanes.indexOf(event.source));
  return cell;
}

// What a sandbox does within a request of the agent is logged under the agent, and is not its own doing.
function doer(event) {
  if (event.actor !== "agent" || event.by_agent) return event.actor;
  return event.source === "run" ? "run" : `${event.source}, within a request of the agent`;
}

function because(trial, event) {
  return event.cause ? el("span", { class: "because" }, "because of ", eventLink(trial, event.cause)) : null;
}

function openEvent(view, event, open) {
  const panel = event.row.querySelector(".panel");
  if (!panel.childElementCount) panel.append(...payloadPanel(view.trial, event));
  panel.hidden = !open;
  event.row.querySelector(".toggle").setAttribute("aria-expanded", String(open));
  highlight(document.getElementById("trial"));
  drawArrows(view);
}

function payloadPanel(trial, event) {
  const effects = trial.log.filter((other) => other.cause === event.seq);
  const facts = [
    ["By", doer(event)],
    ["At", `${event.at} (simulated)`],
    event.cause ? ["Because of", eventLink(trial, event.cause)] : null,
    effects.length ? ["Led to", effects.map((effect) => [eventLink(trial, effect.seq), " "])] : null,
    ...requestFacts(event),
    ...Object.entries(event.blobs || {}).map(([field, kept]) => [
      field, `${plural(kept.size, "byte")} stored outside the log, SHA-256 ${kept.sha256}`]),
  ].filter(Boolean);
  const payload = breakSegments(event.payload);
  const texts = Object.entries(payload).filter(([, value]) => hasLines(value));
  const rest = Object.fromEntries(Object.entries(payload).filter(([, value]) => !hasLines(value)));
  return [
    el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("pre", { tabindex: "0" }, JSON.stringify(rest, null, 2)),
    ...texts.flatMap(([name, text]) => [
      el("p", { class: "muted" }, name), el("pre", { tabindex: "0" }, text.replace(/\r\n?/g, "\n"))]),
  ];
}

// The body stands here only where the payload does not hold it.
function requestFacts(event) {
  const request = event.request;
  if (!request) return [];
  const target = request.path + (request.query ? `?${request.query}` : "");
  const answer = [request.status || "no answer", request.answer].filter(Boolean).join(" ");
  const facts = [["Request", `${request.over ? `${request.over} ` : ""}${request.method} ${target}`], ["Answer", answer]];
  return request.size ? [...facts, ["Body", requestBody(event)]] : facts;
}

function requestBody(event) {
  const { size, body } = event.request;
  const blob = (event.blobs || {})["request.body"];
  const kept = blob ? blob.size : new TextEncoder().encode(body || "").length;
  const note = kept === size ? "" : kept === 0 ? ", not kept" : `, cut to ${kept}`;
  return [body ? el("pre", { tabindex: "0" }, body.replace(/\r\n?/g, "\n")) : null, `${plural(size, "byte")}${note}`];
}

// X12 is usually sent without line breaks: each segment is shown on a line of its own.
function breakSegments(payload) {
  const { edi, delimiters } = payload;
  if (typeof edi !== "string" || typeof delimiters !== "string") return payload;
  const terminator = delimiters.slice(-1);
  return { ...payload, edi: edi.split(terminator).join(`${terminator}\n`).replace(/\s*[\r\n]+/g, "\n").trim() };
}

// A message of HL7, a letter, a table: what has lines is shown in them.
function hasLines(value) {
  return typeof value === "string" && /[\r\n]+./.test(value);
}

// Arrows run from dot to dot, so they are measured after layout and drawn again whenever it changes.
function drawArrows(view) {
  const frame = view.arrows.parentElement;
  if (!frame || !frame.isConnected) return;
  const origin = frame.getBoundingClientRect();
  const paths = [];
  for (const event of view.trial.log) {
    const cause = event.cause && view.trial.bySeq.get(event.cause);
    if (!cause || !cause.row || !event.row || cause.row.hidden || event.row.hidden) continue;
    paths.push(svg("path", { d: curve(centre(cause, origin), centre(event, origin)), "marker-end": "url(#arrow)" }));
  }
  view.arrows.setAttribute("width", frame.clientWidth);
  view.arrows.setAttribute("height", frame.clientHeight);
  view.arrows.replaceChildren(...paths);
}

function centre(event, origin) {
  const box = event.row.querySelector(".track > i").getBoundingClientRect();
  return { x: box.left + box.width / 2 - origin.left, y: box.top + box.height / 2 - origin.top };
}

function curve(from, to) {
  const down = to.y >= from.y ? 6 : -6;
  if (Math.abs(from.x - to.x) < 1) {
    return `M${from.x + 4} ${from.y + down / 2}C${from.x + 16} ${from.y + 2 * down},${to.x + 16} ${to.y - 2 * down},${to.x + 6} ${to.y - down / 2}`;
  }
  const middle = (from.y + to.y) / 2;
  return `M${from.x} ${from.y + down}C${from.x} ${middle},${to.x} ${middle},${to.x} ${to.y - down}`;
}

function showEvent(trial, seq) {
  const view = trial.timeline;
  const event = trial.bySeq.get(seq);
  if (!view || !event) return;
  if (!event.row) draw(view, trial.log.indexOf(event) + 1);
  event.row.hidden = false;
  openEvent(view, event, true);
  for (const row of view.rows.querySelectorAll(".aimed")) row.classList.remove("aimed");
  event.row.classList.add("aimed");
  event.row.scrollIntoView({ block: "center" });
  event.row.querySelector(".toggle").focus({ preventScroll: true });
}
