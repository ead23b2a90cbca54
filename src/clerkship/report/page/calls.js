// Phone calls: the far end above, the agent below, over time; then what the criteria found, and the transcript.

const OPEN_TRANSCRIPTS = 3;
const MOST_BESIDE = 12;
const LEAST_SPACE = 8;
const BAR_LINES = 5;
const LABEL_KINDS = { hold: "held", keys: "by-agent", transfer: "change", verified: "good", rejected: "bad", beep: "change", voicemail: "good", ended: "end", answered: "change" };

function callsSection(trial) {
  const { calls, calls_left_out: left } = trial.body;
  if (!calls || !calls.length) return null;
  const total = calls.length + left;
  return el("section", { class: "calls" },
    el("div", { class: "heading" }, el("h3", {}, total === 1 ? "Phone call" : "Phone calls"), total > 1 ? el("span", { class: "muted" }, plural(total, "call")) : null),
    calls.map((call, place) => callCard(trial, call, place < OPEN_TRANSCRIPTS)),
    left ? el("p", { class: "left-out" }, `${plural(left, "more call")} not shown. Calls that a criterion names come first.`) : null);
}

function callTitle(call) {
  return `${call.direction === "outbound" ? "Call to" : "Call from"} ${call.name || call.number}`;
}

function callCard(trial, call, isOpen) {
  const title = callTitle(call);
  const left = call.moments_left_out;
  return el("article", { class: "call", id: `t${trial.number}c${call.seq}`, "aria-label": title },
    el("div", { class: "heading" }, el("h4", {}, coded(title)),
      el("span", { class: "muted" }, [call.name ? call.number : null, `${moment(trial, call.at)}`, call.source].filter(Boolean).join(" · "), " · ", eventLink(trial, call.seq))),
    el("dl", { class: "call-measures" }, el("div", { class: call.is_completed ? "" : "odd" }, el("dt", {}, "Outcome"), el("dd", {}, call.ending)),
      call.measures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    call.moments.some(({ sort }) => sort === "speech" || sort === "keys") ? callStrip(trial, call, title) : null,
    callFindings(trial, call),
    call.moments.length ? el("details", { class: "transcript-fold", open: isOpen }, el("summary", {}, "Transcript"), transcript(trial, call)) : null,
    left ? el("p", { class: "left-out" }, `${plural(left, "more moment")} of this call not shown, to keep the page small.`) : null);
}

function callStrip(trial, call, title) {
  const keys = [["machine", "recorded voice"], ["human", "person"], ["by-agent", "agent"], ["cut", "cut short"], ["held", "on hold"]];
  return [
    el("div", { class: "strip", role: "group", tabindex: "0", "aria-label": `${title}, drawn over time; the transcript below has the same as a table` },
      call.rows.map((row) => stripRow(trial, call, row))),
    el("p", { class: "legend call-legend muted", "aria-hidden": "true" }, keys.map(([name, word]) => el("span", {}, el("i", { class: `swatch ${name}` }), word)),
      call.moments.some(({ sort }) => sort === "keys") ? el("span", {}, el("kbd", {}, "1"), " key pressed") : null),
  ];
}

function stripRow(trial, call, row) {
  const bars = (isAgent) => row.bars.filter((bar) => call.moments[bar.at].is_by_agent === isAgent);
  const [far, agent] = [bars(false), bars(true)];
  const area = el("div", { class: "strip-area" },
    row.holds.map((hold) => holdBand(trial, call, hold)),
    band("strip-nodes", row.nodes, row.nodes.map((label) => stripLabel(trial, call, label, "node"))),
    el("div", { class: `strip-lane ${far.length ? "" : "empty"}`, "data-name": "Far end" }, far.map((bar, place) => stripBar(trial, call, bar, far[place + 1]))),
    band("strip-labels", row.labels, row.labels.map((label) => [labelTick(label), stripLabel(trial, call, label, LABEL_KINDS[call.moments[label.moments[0]].sort])])),
    el("div", { class: `strip-lane ${agent.length ? "" : "empty"}`, "data-name": "Agent" }, agent.map((bar, place) => stripBar(trial, call, bar, agent[place + 1]))),
    el("div", { class: "strip-axis", "aria-hidden": "true" },
      row.ticks.map((tick) => placed(el("span", { class: "strip-tick" }, tick.text), tick)),
      row.gaps.map((gap) => placed(el("span", { class: "strip-gap", title: `${gap.text} drawn short` }, gap.text), gap))));
  // Places are percent of a whole row, also in a shorter one.
  area.style.width = `${row.width}%`;
  area.style.setProperty("--scale", 100 / row.width);
  return el("div", { class: "strip-row" }, area);
}

function band(name, labels, children) {
  const node = el("div", { class: name }, children);
  node.style.setProperty("--levels", Math.max(0, ...labels.map((label) => label.level + 1)));
  return node;
}

function placed(node, { x, width, level }) {
  node.style.setProperty("--x", x);
  if (width !== undefined) node.style.setProperty("--width", width);
  if (level !== undefined) node.style.setProperty("--level", level);
  return node;
}

function momentId(trial, moment) {
  return `t${trial.number}m${moment.seq}`;
}

function momentTimes(moment) {
  return moment.start === moment.end ? moment.start : `${moment.start} to ${moment.end}`;
}

function describeMoment(moment) {
  const said = [moment.text, moment.rest ? `[cut; not said: ${moment.rest}]` : moment.is_cut ? "[cut]" : ""].filter(Boolean).join(" ");
  return plainText(`${[moment.speaker, momentTimes(moment)].filter(Boolean).join(", ")}: ${said}${moment.note ? ` (${moment.note})` : ""}`);
}

function flags(moments) {
  const marks = new Map(moments.flatMap((moment) => moment.marks || []).map((mark) => [`${mark.finding} ${mark.passed}`, mark]));
  if (!marks.size) return null;
  return el("span", { class: "flags" }, [...marks.values()].map((mark) => flag(mark.finding, mark.passed)));
}

function flag(number, passed) {
  return el("span", { class: `flag is-${passed ? "pass" : "fail"}`, title: `criterion ${number}: ${passed ? "as expected" : "not as expected"}` }, passed ? "✓" : "✗", " ", number);
}

// Whether a text is likely to fit in a bar, of a width in percent, at the least width of a row, with its words whole.
function fits(text, width) {
  const characters = Math.floor((width * 7.5 - 13) / 7);
  let [lines, column] = [1, 0];
  for (const { length } of text.split(/\s+/)) {
    if (length > characters) return text.length < 3;
    if (column && column + 1 + length > characters) [lines, column] = [lines + 1, 0];
    column += length + (column ? 1 : 0);
  }
  return lines <= BAR_LINES;
}

// The text of a bar that is too short for it stands beside the bar, if there is space.
function stripBar(trial, call, bar, next) {
  const moment = call.moments[bar.at];
  const parts = ["strip-bar", moment.is_by_agent ? "by-agent" : "far", moment.speaker === "Line" ? "machine" : "", moment.is_cut && !bar.goes_on ? "cut" : "", moment.note ? "unheard" : "",
    bar.goes_on ? "goes-on" : "", bar.began ? "began" : "", moment.marks ? `cited-${moment.marks.every((mark) => mark.passed) ? "pass" : "fail"}` : ""];
  const text = bar.began ? "…" : moment.text;
  const end = bar.x + bar.width;
  const space = (next ? next.x : 100) - end;
  const isBeside = bar.width < MOST_BESIDE && space > LEAST_SPACE && !fits(`${"flags ".repeat(moment.marks ? moment.marks.length : 0)}${text}`, bar.width);
  const node = placed(el("a", { class: parts.filter(Boolean).join(" "), href: `#${momentId(trial, moment)}`, title: describeMoment(moment) }, isBeside ? null : el("span", { class: "strip-words" }, flags([moment]), coded(text))), bar);
  return isBeside ? [node, placed(el("span", { class: "strip-beside" }, coded(text), moment.note ? el("i", {}, ` (${moment.note})`) : null, " ", flags([moment])), { x: end, width: Math.min(space - 0.5, 21) })] : node;
}

function stripLabel(trial, call, label, kind) {
  const moments = label.moments.map((place) => call.moments[place]);
  const [first] = moments;
  const node = el("a", { class: `strip-label ${kind} sort-${first.sort} ${moments.some((moment) => moment.marks) ? "cited-" + (moments.every((moment) => (moment.marks || []).every((mark) => mark.passed)) ? "pass" : "fail") : ""}`,
    href: `#${momentId(trial, first)}`, title: moments.map(describeMoment).join("\n") },
    first.sort === "keys" ? keyCaps(label.text) : coded(label.text), flags(moments));
  return placed(node, label);
}

function keyCaps(digits) {
  return el("span", { class: "key-caps" }, el("span", { class: "hidden" }, "keys "), [...digits].map((digit) => el("kbd", {}, digit)));
}

function labelTick({ tick }) {
  return placed(el("i", { class: "strip-moment", "aria-hidden": "true" }), { x: tick });
}

function holdBand(trial, call, hold) {
  return placed(el("i", { class: "strip-hold", title: describeMoment(call.moments[hold.at]) }), hold);
}

// What the criteria found in this call: each with the places it names, which are marked in the drawing with its number.
function callFindings(trial, call) {
  if (!call.findings.length) return null;
  const byNumber = new Map(call.moments.map((moment) => [moment.seq, moment]));
  const place = (one) => {
    const moment = byNumber.get(one.seq);
    const where = moment ? moment.start : `#${one.seq}`;
    return el("li", { class: `is-${one.passed ? "pass" : "fail"}` }, icon(one.passed ? "pass" : "fail"), el("span", { class: "hidden" }, one.passed ? "as expected: " : "not as expected: "), coded(`${one.text} `),
      one.is_call ? null : moment ? el("a", { href: `#${momentId(trial, moment)}` }, where) : where);
  };
  const rows = call.findings.map((finding, number) => el("li", { class: `is-${finding.passed ? "pass" : "fail"}` },
    flag(number + 1, finding.passed),
    el("div", {}, el("a", { href: `#t${trial.number}k${finding.criterion}` }, coded(finding.label)),
      el("ul", {}, finding.places.map(place), finding.places_left_out ? el("li", {}, `and ${plural(finding.places_left_out, "more place")}`) : null))));
  return el("div", { class: "call-findings" }, el("h5", {}, "What the criteria found"), el("ol", {}, rows));
}

function transcript(trial, call) {
  const head = ["Start", "End", "Speaker", "Text"].map((title) => el("th", { scope: "col" }, title));
  const rows = [];
  for (let place = 0; place < call.moments.length; place += 1) {
    const nodes = [call.moments[place]];
    while (nodes[0].sort === "node" && call.moments[place + 1] && call.moments[place + 1].sort === "node") nodes.push(call.moments[(place += 1)]);
    rows.push(transcriptRow(trial, nodes));
  }
  return el("table", { class: "transcript" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

function transcriptRow(trial, moments) {
  const [moment] = moments;
  const last = moments.at(-1);
  const isSaid = moment.sort === "speech";
  const text = isSaid ? [coded(moment.text), moment.is_cut ? el("span", { class: "cut-note" }, " ✂ cut short") : null, moment.rest ? [" ", el("s", { title: "not said" }, coded(moment.rest))] : null]
    : moment.sort === "keys" ? keyCaps(moment.text)
    : moment.sort === "node" ? ["menu ", moments.map((node, place) => [place ? " › " : "", el("code", { id: place ? momentId(trial, node) : null, title: node.note }, node.text), flags([node])])]
    : coded(moment.text);
  const note = moment.note && moment.sort !== "node" ? el("span", { class: "muted" }, ` (${moment.note})`) : null;
  const speaker = isSaid || moment.sort === "keys" ? moment.speaker : moment.sort === "ended" && moment.speaker ? moment.speaker : "";
  return el("tr", { id: momentId(trial, moment), class: `moment sort-${moment.sort} ${moment.is_by_agent ? "by-agent" : "far"}` },
    el("td", { class: "number" }, moment.start), el("td", { class: "number" }, last.end === moment.start ? "" : last.end),
    el("th", { scope: "row" }, speaker),
    el("td", {}, text, note, " ", moment.sort === "node" ? null : flags([moment]), " ", el("span", { class: "at" }, eventLink(trial, moment.seq))));
}

// Opens and marks the row of the transcript that an address names.
function showMoment(trial, seq) {
  const row = document.getElementById(`t${trial.number}m${seq}`);
  if (!row) return;
  const fold = row.closest("details");
  if (fold) fold.open = true;
  for (const other of document.querySelectorAll(".moment.aimed")) other.classList.remove("aimed");
  row.closest("tr").classList.add("aimed");
  row.scrollIntoView({ block: "center" });
}

function showCriterion(trial, place) {
  const card = document.getElementById(`t${trial.number}k${place}`);
  if (!card) return;
  card.open = true;
  card.scrollIntoView({ block: "center" });
  card.querySelector("summary").focus({ preventScroll: true });
}

// A link from the evidence to the place in a call, if the event is one that a call shows.
function callLink(trial, seq) {
  if (!trial.inCalls) trial.inCalls = new Set((trial.body.calls || []).flatMap((call) => call.moments.map((moment) => moment.seq)));
  return trial.inCalls.has(seq) ? [" ", el("a", { class: "in-call", href: `#t${trial.number}m${seq}`, title: "in the transcript of the call" }, "call")] : null;
}

function voicemailsSection(trial) {
  const { voicemails, voicemails_left_out: left } = trial.body;
  if (!voicemails || !voicemails.length) return null;
  const card = (one) => el("li", { class: "voicemail" },
    el("p", { class: "who" }, el("b", {}, one.mailbox), ` from ${[one.name, one.from].filter(Boolean).join(" ") || "an unknown number"} · ${moment(trial, one.at)} · ${one.seconds} s · `, eventLink(trial, one.seq)),
    one.before_beep ? el("p", { class: "before-beep" }, el("b", {}, "Before the beep, not recorded: "), el("s", {}, one.before_beep)) : null,
    el("p", { class: "bubble" }, one.text ? coded(one.text) : "(nothing was said after the beep)"));
  return el("section", { class: "voicemails" }, el("h3", {}, "Voicemails"), el("ul", {}, voicemails.map(card)),
    left ? el("p", { class: "left-out" }, `${plural(left, "more voicemail")} not shown.`) : null);
}
