// The steps of a `sequencing` criterion across the lanes, found and missing, as its evidence has them.

const STEP_ROOM = 24;

function listSequences(trial) {
  return trial.body.criteria.map((criterion, place) => ({ criterion, place, steps: listSteps(trial, criterion) })).filter(({ steps }) => steps.length);
}

// The first step that failed is missing; those behind it were not looked for.
function listSteps(trial, { assertion, status, evidence }) {
  const rows = assertion === "sequencing" && status === "judged" ? evidence.filter(({ path }) => /^step \d+$/.test(path)) : [];
  const failing = rows.findIndex(({ passed }) => !passed);
  return rows.map((row, place) => {
    const isReached = failing < 0 || place <= failing;
    const [word, outcome] = row.passed ? ["found", "pass"] : isReached ? ["missing", "fail"] : [`not checked, because step ${failing + 1} is missing`, "skipped"];
    return { number: place + 1, text: String(row.expected), found: row.passed, isReached, word, outcome, seq: isReached ? row.seq : null, event: (isReached && trial.bySeq.get(row.seq)) || null };
  });
}

// The first failed sequence is shown, or else the first.
function sequencePicker(chart) {
  const { sequences } = chart;
  if (!sequences.length) return null;
  const first = Math.max(sequences.findIndex(({ criterion }) => !criterion.passed), 0);
  const choose = (place) => {
    chart.chosen = sequences[place] || null;
    chart.words.replaceChildren(...(chart.chosen ? sequenceWords(chart.trial, chart.chosen) : []));
    drawLanes(chart);
  };
  const option = ({ criterion }, place) => el("option", { value: place, selected: place === first }, oneLine(`${criterion.passed ? "✓" : "✗"} ${plainText(criterion.label)}`, 70));
  choose(first);
  return el("label", { class: "sequence-picker" }, "Steps of ", el("select", { change: ({ target }) => choose(Number(target.value)) }, sequences.map(option), el("option", { value: -1 }, "none")));
}

// The same in words.
function sequenceWords(trial, { criterion, place, steps }) {
  const see = ({ seq, found }) => (seq ? [found ? " " : " · see ", eventLink(trial, seq)] : null);
  return [
    el("h4", {}, "Steps of ", el("a", { href: `#t${trial.number}k${place}` }, coded(criterion.label))),
    el("ol", {}, steps.map((step) => el("li", { class: `is-${step.outcome}` }, el("span", { class: "step-badge" }, step.number), el("span", {}, el("b", {}, step.word), ": ", coded(step.text), see(step))))),
    ...(criterion.passed ? [] : [el("p", { class: "sentence" }, linked(criterion.detail, trial))]),
  ];
}

function drawSteps(chart) {
  chart.front.replaceChildren();
  if (!chart.chosen) return;
  const lines = svg("svg", { width: "100%", height: chart.lanes.length * LANE.height });
  const spots = placeSteps(chart);
  // The event of a missing step is in the wrong place; if there is none at all, it is only the nearest one.
  const isElsewhere = !/, never happened/.test(chart.chosen.criterion.detail);
  spots.forEach((spot, place) => {
    if (place) lines.append(stepLine(chart, spots[place - 1], spot, `is-${spot.step.outcome}`));
    if (spot.event && (spot.step.found || isElsewhere)) lines.append(stepLine(chart, spot, spot.event, spot.step.found ? "is-stem" : "is-elsewhere"));
  });
  chart.front.append(lines, ...spots.flatMap((spot) => stepBadge(chart, spot)));
}

// Each step is above its event; a missing one is behind the step before it, with its words. Then all are moved left until they fit.
function placeSteps(chart) {
  const { chosen, lanes, width, scale } = chart;
  const rowOf = (event) => lanes.findIndex(({ name }) => name === event.source);
  const spots = [];
  for (const step of chosen.steps) {
    const before = spots.at(-1) || { x: LEFT_EDGE - STEP_ROOM, row: 0 };
    const event = step.event && { x: scale.byTime.get(step.event.time), y: rowOf(step.event) * LANE.height + LANE.marks };
    const row = step.found && event ? rowOf(step.event) : laneOfStep(chart, step, before.row);
    const words = !step.found && step.isReached ? `missing: ${plainText(step.text)}` : "";
    const covered = spots.find((spot) => spot.words && spot.row === row && !isLate(chart, spot));
    const free = covered ? covered.x + Math.min(covered.words.length * 6, width / 2) : 0;
    spots.push({ step, row, event, words, x: Math.max(before.x + STEP_ROOM, step.found && event ? event.x : 0, free), y: row * LANE.height + LANE.steps });
  }
  spots.reduceRight((limit, spot) => (spot.x = Math.min(spot.x, limit)) - STEP_ROOM, width - LANE.steps);
  return spots;
}

// The lane of a missing step: that of the sandbox it names, or of its kind of events; else that of the step before.
function laneOfStep({ lanes }, { text }, before) {
  const [, family = "", name = ""] = /^`([a-z0-9]+)\.[^`]*`(?: on (\S+))?/.exec(text) || [];
  const isLane = [(lane) => lane.name === name, (lane) => lane.kind === family, (lane) => lane.name === family, (lane) => lane.events.some(({ kind }) => kind.startsWith(`${family}.`))];
  const match = family && isLane.find((one) => lanes.some(one));
  return match ? lanes.findIndex(match) : before;
}

// Whether a missing step has more space for its words before it.
function isLate({ width }, { x }) {
  return x > width * 0.6;
}

function stepLine({ width }, from, to, name) {
  const percent = (place) => `${(place / width) * 100}%`;
  return svg("line", { class: name, x1: percent(from.x), y1: from.y, x2: percent(to.x), y2: to.y });
}

function stepBadge(chart, spot) {
  const { step, words, x, y } = spot;
  const badge = el(step.found ? "a" : "span", { class: `step-badge is-${step.outcome}`, tabindex: step.found ? "-1" : null, href: step.found ? `#t${chart.trial.number}e${step.seq}` : null,
    ...withTip(chart, () => [`Step ${step.number}: ${step.word}`, plainText(step.text)]) }, step.number);
  const nodes = [badge, words ? el("span", { class: `step-words is-fail ${isLate(chart, spot) ? "before" : ""}` }, words) : null].filter(Boolean);
  for (const node of nodes) inChart(chart, node, x).style.setProperty("--y", `${y}px`);
  return nodes;
}
