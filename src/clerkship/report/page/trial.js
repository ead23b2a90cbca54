// One trial: the verdict and why, what the agent was told, the evidence, what was said, what happened.

function trialView(trial) {
  if (!trial.body) return [trialHead(trial), el("p", { class: "left-out" },
    "Left out of this page to keep it small; ", el("code", {}, `clerkship show ${DATA.run}`), " prints it.")];
  return [
    trialHead(trial),
    alerts(trial),
    facts(trial),
    briefSection(trial),
    criteriaSection(trial),
    conversationSection(trial),
    timelineSection(trial),
  ].flat().filter(Boolean);
}

function trialHead(trial) {
  const step = (by, word, arrow) => el("button", { type: "button", class: "step", "aria-label": `${word} trial`, click: () => move(by) }, arrow);
  return el("div", { class: `head is-${trial.outcome}` },
    el("p", { class: "verdict" }, icon(trial.outcome), el("strong", {}, verdictWord(trial.outcome)),
      trial.score === null ? null : el("span", { class: "score" }, `score ${trial.score.toFixed(2)}`),
      el("span", { class: "steps" }, step(-1, "Previous", "←"), step(1, "Next", "→"))),
    el("h2", {}, trial.task),
    trial.body ? el("p", { class: "reason" }, trial.body.reason) : null,
    el("p", { class: "tags" },
      trial.trial > 1 ? badge(`trial ${trial.trial}`) : null,
      trial.attempt > 1 ? badge(`attempt ${trial.attempt}`) : null,
      trial.tags.map((tag) => badge(tag, "tag"))));
}

function alerts(trial) {
  const { error, verdict, agent_error: agentError, agent_traceback: trace } = trial.body;
  return [
    error ? errorBox("Platform error", `Not the agent's doing.${verdict ? "" : " This trial has no verdict and is left out of the rate."}`, error) : null,
    agentError ? errorBox("Agent error", "The agent crashed, or answered what is no answer. What it did until then was judged.", [agentError, trace].filter(Boolean).join("\n\n")) : null,
  ];
}

function errorBox(title, meaning, text) {
  return el("div", { class: "alert", role: "note" }, icon("errored"),
    el("div", {}, el("h3", {}, title), el("p", {}, meaning), el("pre", { tabindex: "0" }, text)));
}

const STATUS_WORDS = {
  completed: "Completed",
  timed_out: "Timed out",
  errored: "Errored",
  invalid_person: "Invalid person",
  cancelled: "Cancelled",
};

function facts(trial) {
  const body = trial.body;
  const head = [el("code", { title: body.head }, body.head.slice(0, 12)), " ", copyButton(body.head, "the whole hash")];
  const entries = [
    ["Status", STATUS_WORDS[body.status] || body.status],
    ["Ending", body.ending],
    body.answer === null ? null : ["Answer", el("span", { class: "value" }, plainValue(body.answer))],
    ...Object.entries(body.facts).map(measured),
    ["Log", [plural(body.events, "event"), ", head ", head]],
  ].filter(Boolean);
  return el("div", { class: "about" },
    el("dl", {}, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    body.axes.length > 1 || (body.axes[0] && body.axes[0].name !== "__default__") ? axes(body.axes) : null);
}

function measured([name, value]) {
  if (name === "wall_ms") return ["Took", value < 1000 ? `${value.toFixed(1)} ms` : lasting(value / 1000)];
  return [name.replaceAll("_", " "), el("span", { class: "value" }, plainValue(value))];
}

function axes(all) {
  const row = (axis) => {
    const name = axis.name === "__default__" ? "no axis" : axis.name;
    return el("tr", {}, el("th", { scope: "row" }, name),
      el("td", {}, el("meter", { min: 0, max: 1, low: 0.5, high: 0.9, optimum: 1, value: axis.score, "aria-label": `${name} ${axis.score.toFixed(2)}` })),
      el("td", { class: "number" }, axis.score.toFixed(2)),
      el("td", { class: "muted" }, `weight ${axis.weight}`));
  };
  return el("table", { class: "axes" }, el("caption", {}, "Score by axis"), el("tbody", {}, all.map(row)));
}

function briefSection(trial) {
  const brief = trial.body.brief;
  if (!brief) return null;
  const { instruction, ...rest } = brief.task_item;
  const sandboxes = Object.entries(brief.sandboxes).map(([name, kind]) => (name === kind ? name : `${name} (${kind})`));
  const entries = [
    ...Object.entries(rest).map(([name, value]) => [name.replaceAll("_", " "), Array.isArray(value) ? value.map(plainValue).join(", ") : plainValue(value)]),
    brief.person ? ["Person", brief.context ? `${brief.person}: ${brief.context}` : brief.person] : null,
    Object.keys(brief.slots).length ? ["Slots before", Object.entries(brief.slots).map(([name, value]) => `${name} = ${plainValue(value)}`).join(", ")] : null,
    brief.compat ? ["Assertions", `read as ${brief.compat} reads them`] : null,
    ["Where", brief.environment + (brief.description ? `: ${brief.description}` : "")],
    brief.file ? ["File", brief.file] : null,
    sandboxes.length ? ["Sandboxes", sandboxes.join(", ")] : null,
  ].filter(Boolean);
  const told = typeof instruction === "string" ? instruction : instruction === undefined ? "" : pretty(instruction);
  return el("section", { class: "brief" },
    el("h3", {}, told || !brief.opening ? "What the agent was told" : "How it began"),
    told ? el("blockquote", {}, told.trim()) : null,
    brief.opening && !told ? el("blockquote", {}, `“${brief.opening}”`) : null,
    el("dl", {}, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}
