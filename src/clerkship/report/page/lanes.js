// All sandboxes of a trial as lanes on one time scale. Places are percent of the width, so that print can be narrower.

const LANE = { height: 58, steps: 12, marks: 36 }; // pixels, as in lanes.css
const [LEFT_EDGE, RIGHT_EDGE] = [14, 26];
const MARK_ROOM = 17; // what a mark keeps free behind it
const WIDEST_MARK = 44;
const MOST_ROOMS = 12; // what many events in a row of one sandbox keep free together, in marks
const BREAK_ROOM = 56;
const TICK_ROOM = 68;
const [LEAST_QUIET, MOST_QUIET] = [5, 600]; // seconds
const MOST_LISTED = 40;
const MOST_KINDS = 4;

function lanesSection(trial) {
  const sequences = listSequences(trial);
  const lanes = listLanes(trial);
  if (!trial.log.length || (lanes.filter(({ events }) => events.length).length < 2 && !sequences.length)) return null;
  const layer = (name) => el("div", { class: `lane-${name}`, "aria-hidden": "true" });
  const chart = {
    trial, lanes, sequences, spans: listSpans(trial, lanes), cited: groupedBy(trial.body.marks.filter(({ passed }) => !passed), ({ seq }) => seq),
    back: layer("back"), front: layer("front"), axis: layer("axis"), tip: layer("tip"), group: el("div", { class: "lane-group" }), words: el("div", { class: "lane-words" }),
  };
  chart.tip.hidden = true;
  chart.inner = el("div", { class: "lane-inner" }, lanes.map(laneRow),
    el("div", { class: "lane-row lane-foot" }, el("span", { class: "lane-name" }, el("small", {}, `Time (${trial.body.zone.name})`)), chart.axis), chart.back, chart.front);
  const wider = el("button", { type: "button", class: "quiet push", "aria-pressed": "false", click: () => {
    const isWide = wider.getAttribute("aria-pressed") === "false";
    wider.setAttribute("aria-pressed", String(isWide));
    chart.inner.classList.toggle("wide", isWide);
  } }, "Four times as wide");
  new ResizeObserver(() => drawLanes(chart)).observe(chart.inner);
  return el("section", { class: "sandbox-lanes" },
    el("div", { class: "heading" }, el("h3", {}, "Sandboxes over time"), sequencePicker(chart), wider),
    el("div", { class: "lane-chart", role: "group", "aria-label": "Sandboxes over time. Arrow keys move between marks. The timeline has the same events as a list.", keydown: (event) => moveAmongMarks(chart, event) },
      el("div", { class: "lane-scroll" }, chart.inner), chart.tip),
    laneLegend(chart), chart.group, chart.words);
}

// A lane for each sandbox in the order of the environment, then what else has events.
function listLanes(trial) {
  const kinds = trial.body.brief ? trial.body.brief.sandboxes : {};
  for (const event of trial.log) event.time = Date.parse(event.at);
  const events = new Map([...Object.keys(kinds).map((name) => [name, []]), ...groupedBy(trial.log, ({ source }) => source)]);
  const rank = (name) => (Object.hasOwn(kinds, name) ? -2 : ["scenario", "run"].indexOf(name));
  return [...events].sort(([a], [b]) => rank(a) - rank(b)).map(([name, own]) => ({ name, kind: kinds[name] || "", events: own }));
}

function groupedBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

function laneRow(lane) {
  const number = lane.events.length ? plural(lane.events.length, "event") : "no events";
  lane.track = el("ol", { class: "lane-track", "aria-label": `${lane.name}: ${number}` });
  return el("div", { class: `lane-row ${lane.events.length ? "" : "unused"}` },
    el("span", { class: "lane-name" }, el("b", {}, lane.name), el("small", {}, lane.kind && lane.kind !== lane.name ? `${lane.kind} · ${number}` : number)), lane.track);
}

// What lasts: calls with their holds, conversations, sessions of a website, and waits of the agent.
function listSpans(trial, lanes) {
  const end = trial.log.length ? trial.log.at(-1).time : 0;
  const calls = (trial.body.calls || []).flatMap((call) => {
    const start = Date.parse(call.at);
    const shared = { lane: call.source, href: `#t${trial.number}c${call.seq}` };
    const holds = call.holds.map(([from, to]) => ({ ...shared, sort: "hold", start: start + from * 1000, end: start + to * 1000, text: "on hold" }));
    return [{ ...shared, sort: "call", start, end: start + call.length * 1000, text: callTitle(call) }, ...holds];
  });
  const others = lanes.flatMap((lane) => lane.events.map((event) => ({ lane: lane.name, start: event.time, href: `#t${trial.number}e${event.seq}`, ...lasts(trial, lane, event) })));
  return [...calls, ...others.filter(({ sort }) => sort)].map((one) => ({ ...one, end: Math.min(one.end === undefined ? end : one.end, end) }));
}

// A conversation or session lasts until the event that ends it, a wait for its duration or until the next event.
function lasts(trial, { events }, event) {
  const { session, person, user, seconds } = event.payload;
  if (event.kind === "clock.advanced") {
    const next = seconds === null ? trial.log.find(({ time, seq }) => seq > event.seq && time >= event.time) : null;
    return { sort: "wait", text: "waits", end: next ? next.time : event.time + seconds * 1000 };
  }
  if (!/(\.session\.started|^portal\.signed_in)$/.test(event.kind)) return null;
  const last = events.find((other) => other.seq > event.seq && other.kind.endsWith(".session.ended") && other.payload.session === session);
  return { sort: "session", text: person ? `conversation with ${person}` : `signed in as ${user}`, end: last ? last.time : undefined };
}

// Places of times in pixels. A time in which nothing happens for much longer than usual is a break of fixed width. Other times are to scale,
// and each with an event keeps some room, so that seconds of work stay readable beside minutes.
function buildLaneScale(events, spans, width) {
  const sources = new Map(events.map(({ time, source }) => [time, source]));
  const times = [...new Set([...sources.keys(), ...spans.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, place) => (time - times[place]) / 1000);
  const median = [...gaps].sort((a, b) => a - b)[gaps.length >> 1] || 1;
  const quiet = Math.min(Math.max(8 * median, LEAST_QUIET), MOST_QUIET);
  const isBreak = gaps.map((seconds) => seconds > quiet);
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  const breakWidth = Math.min(BREAK_ROOM, (width * 0.4) / (isBreak.filter(Boolean).length || 1));
  const free = width - sum(isBreak.map((one) => (one ? breakWidth : 0)));
  const rooms = shareRoom(times.slice(1).map((time) => sources.get(time))).map((room, place) => (isBreak[place] ? 0 : room));
  const narrow = Math.min(1, (free * 0.7) / (sum(rooms) || 1));
  const rate = Math.max(free - sum(rooms) * narrow, 0) / (sum(gaps.filter((_, place) => !isBreak[place])) || 1);
  const places = [LEFT_EDGE];
  gaps.forEach((seconds, place) => places.push(places.at(-1) + (isBreak[place] ? breakWidth : rooms[place] * narrow + seconds * rate)));
  const breaks = gaps.flatMap((seconds, place) => (isBreak[place] ? [{ seconds, x: places[place], width: breakWidth }] : []));
  return { times, places, breaks, byTime: new Map(times.map((time, place) => [time, places[place]])) };
}

// The room of each event; a long row of events of one sandbox shares that of a short one.
function shareRoom(sources) {
  const rooms = [];
  for (let start = 0, end = 0; start < sources.length; start = end) {
    while (end < sources.length && sources[end] === sources[start]) end += 1;
    rooms.push(...Array(end - start).fill(MARK_ROOM * Math.min(1, MOST_ROOMS / (end - start))));
  }
  return rooms;
}

// Drawn when the width is known, and again when it changes or other steps are chosen.
function drawLanes(chart) {
  const width = chart.axis.clientWidth;
  if (!width || (width === chart.width && chart.drawn === chart.chosen)) return;
  Object.assign(chart, { width, drawn: chart.chosen });
  chart.scale = buildLaneScale(chart.trial.log, chart.spans, width - LEFT_EDGE - RIGHT_EDGE - (chart.chosen ? chart.chosen.steps.filter(({ found }) => !found).length : 0) * STEP_ROOM);
  for (const lane of chart.lanes) drawLane(chart, lane);
  chart.back.replaceChildren(...chart.scale.breaks.map((one) => inChart(chart, el("i", { class: "lane-break" }), one.x, one.width)));
  drawLaneAxis(chart);
  drawSteps(chart);
  const first = chart.inner.querySelector(".lane-mark");
  if (first) first.tabIndex = 0;
  const missing = chart.front.querySelector(".step-badge.is-fail");
  if (missing) chart.inner.parentElement.scrollLeft = missing.offsetLeft - chart.inner.parentElement.clientWidth / 2; // of a wide drawing
}

function inChart({ width }, node, x, wide) {
  node.style.setProperty("--x", `${(x / width) * 100}%`);
  if (wide !== undefined) node.style.setProperty("--width", `${(wide / width) * 100}%`);
  return node;
}

function drawLane(chart, lane) {
  const { byTime } = chart.scale;
  let captioned = 0;
  const bars = chart.spans.filter((span) => span.lane === lane.name).map((span) => {
    const [x, wide] = [byTime.get(span.start), byTime.get(span.end) - byTime.get(span.start)];
    const text = `${span.text}, ${lasting((span.end - span.start) / 1000)}`;
    const words = span.sort === "hold" || wide < 40 || x < captioned ? "" : wide < 110 ? span.text : text;
    if (words) captioned = x + Math.min(wide, words.length * 6);
    const caption = words ? el("span", {}, words) : null;
    return inChart(chart, el("a", { class: `lane-bar is-${span.sort}`, href: span.href, tabindex: "-1", "aria-label": text, ...withTip(chart, () => [text]) }, caption), x, wide);
  });
  lane.track.replaceChildren(...[...bars, ...groupMarks(chart, lane).map((group) => laneMark(chart, lane, group))].map((node) => el("li", {}, node)));
}

// Events whose marks would cover each other share one, up to a width.
function groupMarks({ scale }, { events }) {
  const groups = [];
  for (const event of events) {
    const x = scale.byTime.get(event.time);
    const last = groups.at(-1);
    if (last && x - last.end < MARK_ROOM - 1 && x - last.x < WIDEST_MARK) {
      last.end = x;
      last.events.push(event);
    } else groups.push({ x, end: x, events: [event] });
  }
  return groups.map((group, place) => ({ ...group, end: Math.max(Math.min(group.end, place + 1 < groups.length ? groups[place + 1].x - MARK_ROOM - 3 : Infinity), group.x) }));
}

function laneMark(chart, lane, { x, end, events }) {
  const { trial, cited } = chart;
  const [event] = events;
  const odd = events.map(trouble).find(Boolean);
  const byAgent = events.filter((event) => event.by_agent).length;
  const failed = [...new Set(events.flatMap(({ seq }) => cited.get(seq) || []).map(({ text }) => `✗ ${plainText(text)}`))];
  const lines = () => [...(events.length > 1 ? groupLines(trial, lane, events) : eventLines(trial, event)), ...failed];
  const classes = ["lane-mark", byAgent === events.length ? "by-agent" : byAgent ? "by-both" : "", odd ? `odd ${odd.kind}` : "", events.length > 1 ? "several" : "", failed.length ? "is-cited" : "", events.every(hasPages) ? "pages" : ""];
  const shared = { class: classes.filter(Boolean).join(" "), tabindex: "-1", "aria-label": lines().join("; "), ...withTip(chart, lines) };
  const shape = odd ? icon(odd.icon) : null;
  const node = events.length > 1
    ? el("button", { type: "button", ...shared, click: () => listGroup(chart, lane, events) }, shape, el("span", {}, events.length.toLocaleString("en")))
    : el("a", { href: `#t${trial.number}e${event.seq}`, ...shared, click: () => openSent(trial, event) }, shape);
  return inChart(chart, node, x, end - x);
}

function hasPages(event) {
  return Boolean(event.page || (event.fax && event.fax.total));
}

function eventLines(trial, event) {
  const odd = trouble(event);
  return [`${moment(trial, event.at)} · ${event.source} · #${event.seq}`, odd ? `${odd.word}: ${event.kind}` : event.kind, eventGist(event)].filter(Boolean);
}

function groupLines(trial, lane, events) {
  const kinds = [...groupedBy(events, ({ kind }) => kind)].sort(([, a], [, b]) => b.length - a.length);
  const rest = kinds.length - MOST_KINDS;
  return [`${clock(trial, events[0].at)} to ${clock(trial, events.at(-1).at)} · ${lane.name} · ${plural(events.length, "event")}`,
    ...kinds.slice(0, MOST_KINDS).map(([kind, own]) => (own.length > 1 ? `${own.length.toLocaleString("en")} × ${kind}` : kind)),
    rest > 0 ? `and ${plural(rest, "more kind")}` : "", ...new Set(events.map(trouble).filter(Boolean).map(({ word }) => `with events: ${word}`))].filter(Boolean);
}

function eventGist(event) {
  return oneLine(el("span", {}, faxGist(event) || event.line || summary(event.payload)).textContent, 160);
}

// The address of the mark shows the event; a page as it was sent is opened there.
function openSent(trial, event) {
  if (event.page) showEvent(trial, event.seq);
  const toggle = event.page && event.row && event.row.querySelector(".show-page[aria-expanded=false]");
  if (toggle) toggle.click();
}

// The events that share a mark, as links.
function listGroup(chart, lane, events) {
  const { trial } = chart;
  const row = (event) => el("li", {}, clock(trial, event.at), " ", eventLink(trial, event.seq), " ", trouble(event) ? [icon(trouble(event).icon), ` ${trouble(event).word} `] : null, el("code", {}, event.kind), ` ${eventGist(event)}`);
  const heading = el("div", { class: "heading", tabindex: "-1" }, el("b", {}, `${plural(events.length, "event")} of ${lane.name}`),
    el("button", { type: "button", class: "quiet push", click: () => chart.group.replaceChildren() }, "Close"));
  const rest = events.slice(MOST_LISTED);
  const more = rest.length ? [el("p", { class: "muted" }, `and ${plural(rest.length, "more event")}, in the timeline from `, eventLink(trial, rest[0].seq))] : [];
  chart.group.replaceChildren(heading, el("ol", {}, events.slice(0, MOST_LISTED).map(row)), ...more);
  chart.group.scrollIntoView({ block: "nearest" });
  heading.focus({ preventScroll: true });
}

// What a mark stands for, shown below it while it is pointed at or has the focus.
function withTip({ tip }, lines) {
  const show = ({ currentTarget }) => {
    const frame = tip.parentElement.getBoundingClientRect();
    const box = currentTarget.getBoundingClientRect();
    tip.replaceChildren(...lines().map((line) => el("p", {}, line)));
    tip.hidden = false;
    tip.style.left = `${Math.max(Math.min((box.left + box.right) / 2 - frame.left - 20, frame.width - tip.offsetWidth), 0)}px`;
    tip.style.top = `${box.bottom - frame.top + 6}px`;
  };
  const hide = () => { tip.hidden = true; };
  return { pointerenter: show, focus: show, pointerleave: hide, blur: hide };
}

// One mark can be reached with Tab, the others from it: left and right in its lane, up and down to the nearest in another.
function moveAmongMarks(chart, event) {
  const mark = document.activeElement;
  if (event.key === "Escape") chart.tip.hidden = true;
  if (!mark.classList.contains("lane-mark") || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = chart.lanes.map(({ track }) => [...track.querySelectorAll(".lane-mark")]).filter((row) => row.length);
  const number = rows.findIndex((row) => row.includes(mark));
  const place = rows[number].indexOf(mark);
  const away = (other) => Math.abs(other.getBoundingClientRect().left - mark.getBoundingClientRect().left);
  const nearest = (row) => row && row.reduce((best, other) => (away(other) < away(best) ? other : best));
  const target = {
    ArrowRight: () => rows[number][place + 1], ArrowLeft: () => rows[number][place - 1], Home: () => rows[number][0], End: () => rows[number].at(-1),
    ArrowDown: () => nearest(rows[number + 1]), ArrowUp: () => nearest(rows[number - 1]),
  }[event.key];
  if (!target) return;
  event.preventDefault();
  const next = target() || mark;
  mark.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// Times where there is space, always behind a break if there is, and how long each break is.
function drawLaneAxis(chart) {
  const { trial, width, scale: { times, places, breaks } } = chart;
  const ends = breaks.map((one) => one.x + one.width);
  const nodes = [];
  let [free, date, next] = [-Infinity, "", 0];
  times.forEach((time, place) => {
    const x = places[place];
    while (next < ends.length && ends[next] < x - 0.1) next += 1;
    const isEnd = next < ends.length && ends[next] <= x + 0.1;
    const isInWay = !isEnd && place > 0 && next < ends.length && ends[next] - x < TICK_ROOM;
    if (x < free || x > width - TICK_ROOM || isInWay) return;
    const at = new Date(time).toISOString();
    const isNewDay = day(trial, at) !== date;
    nodes.push(inChart(chart, el("span", { class: "lane-tick" }, isNewDay ? el("b", {}, `${day(trial, at)} `) : null, clock(trial, at)), x));
    date = day(trial, at);
    free = x + TICK_ROOM * (isNewDay ? 2.1 : 1);
  });
  chart.axis.replaceChildren(...nodes, ...breaks.map((one) => inChart(chart, el("span", { class: "lane-gap" }, one.width > 34 ? lasting(one.seconds, 1) : one.width > 10 ? "⋯" : ""), one.x, one.width)));
}

function laneLegend({ trial, lanes, spans, cited }) {
  const key = (name, word) => el("span", {}, el("i", { class: `lane-key ${name}` }), word);
  const kinds = new Set(trial.log.map(trouble).filter(Boolean));
  const left = trial.body.events - trial.log.length;
  return el("p", { class: "legend muted" }, key("by-agent", "done by the agent"), key("", "by others"), key("by-both", "by both"), trial.log.some(hasPages) ? key("pages", "with pages") : null,
    key("several", "several events: press for the list"), key("lane-break", "time passes, drawn short"), spans.some(({ sort }) => sort === "hold") ? key("is-hold", "on hold") : null,
    cited.size ? key("is-cited", "cited by a failed criterion") : null, [...kinds].map((kind) => el("span", { class: kind.kind }, icon(kind.icon), kind.word)),
    left > 0 ? el("span", {}, `${plural(left, "event")} not shown, see the timeline`) : null);
}
