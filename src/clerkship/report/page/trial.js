// One trial: the verdict and why, what the agent was told, the evidence, what was said, what happened.

function trialView(trial) {
  const hits = el("section", { class: "hits", hidden: true });
  if (!trial.body) return [trialHead(trial), hits, el("p", { class: "left-out" },
    "Left out of this page to keep it small; ", el("code", {}, `${DATA.command} show ${DATA.run}`), " prints it.")];
  return [
    trialHead(trial),
    hits,
    alerts(trial),
    attachments(trial),
    facts(trial),
    briefSection(trial),
    criteriaSection(trial),
    lanesSection(trial),
    qualitySection(trial),
    conversationSection(trial),
    callsSection(trial),
    voicemailsSection(trial),
    timelineSection(trial),
    unauthenticatedSection(trial),
  ].flat().filter(Boolean);
}

function trialHead(trial) {
  const step = (by, word, arrow) => el("button", { type: "button", class: "step", "aria-label": `${word} trial`, click: () => move(by) }, arrow);
  return el("div", { class: `head is-${trial.outcome}` },
    el("p", { class: "verdict" }, icon(trial.outcome), el("strong", {}, verdictWord(trial.outcome)),
      trial.score === null ? null : el("span", { class: "score" }, `score ${trial.score.toFixed(2)}`),
      el("span", { class: "steps" }, step(-1, "Previous", "←"), step(1, "Next", "→"))),
    el("h2", {}, coded(trial.task)),
    trial.changed ? el("p", { class: "reason" }, coded(`Changed in the store after it was saved: ${trial.changed}. What follows is in the store now and cannot be trusted.`)) : null,
    trial.body && !trial.changed ? el("p", { class: "reason" }, coded(trial.body.reason)) : null,
    el("p", { class: "tags" },
      groupOf(trial).trials.length > 1 || trial.trial > 1 ? badge(`trial ${trial.trial}`) : null,
      trial.flaky ? badge("flaky", "", "Some trials of the task passed and some did not") : null,
      trial.attempt > 1 ? badge(`attempt ${trial.attempt}`) : null,
      trial.tags.map((tag) => badge(coded(tag), "tag"))));
}

function alerts(trial) {
  const { error, verdict, missed, agent_error: agentError, notes } = trial.body;
  return [
    error && trial.outcome === "invalid_person" ? personBox(trial, error) : null,
    error && missed ? errorBox("Not recorded", "The trial differs from the recording and needs an answer that was not recorded. This trial has no verdict and is not in the rate.", error) : null,
    error && !missed && trial.outcome !== "invalid_person" ? errorBox("Platform error", `The agent is not at fault.${verdict ? "" : " This trial has no verdict and is not in the rate."}`, error) : null,
    agentError ? errorBox("The agent crashed", `It raised an error or returned an invalid answer${verdict ? ", so the verdict is fail" : ""}. The criteria were checked as they were then.`, agentError, "fail") : null,
    notes ? errorBox("Note", "This does not change the verdict.", notes.join("\n"), "partial") : null,
  ];
}

// Shows the rejected line with the rule it breaks, and links to its place in the conversation.
function personBox(trial, error) {
  const broke = trial.log.find((event) => event.kind === BROKE);
  const line = broke && broke.payload.would_have_said;
  const box = errorBox("The person, not the agent",
    "The simulated person did not keep to their role. There is no verdict on the agent, and this trial is not in the rate.", error);
  if (broke) box.lastElementChild.append(el("p", {}, line ? ["Not said: ", el("q", {}, coded(line)), " "] : null, eventLink(trial, broke.seq)));
  return box;
}

function errorBox(title, meaning, text, outcome = "errored") {
  return el("div", { class: `alert is-${outcome}`, role: "note" }, icon(outcome),
    el("div", {}, el("h3", {}, title), el("p", {}, meaning), el("pre", { tabindex: "0" }, coded(text))));
}

// Tracebacks and stacks are open; the agent's output is folded.
function attachments(trial) {
  return trial.body.attachments.map(({ title, text }) =>
    el("details", { class: "attachment", open: !title.includes("print") && !title.includes("standard error") },
      el("summary", {}, title[0].toUpperCase() + title.slice(1)), el("pre", { tabindex: "0" }, text)));
}

function facts(trial) {
  const body = trial.body;
  const head = [el("code", { title: body.head }, body.head.slice(0, 12)), " ", copyButton(body.head, "the whole hash")];
  const entries = [
    ["Status", body.status],
    ["Ending", body.ending],
    body.answer === null ? null : ["Answer", el("span", { class: "value" }, coded(plainValue(body.answer)))],
    ...Object.entries(body.facts).map(measured),
    body.models ? ["Models", body.models] : null,
    ["Log", [plural(body.events, "event"), ", SHA-256 ", head]],
  ].filter(Boolean);
  return el("div", { class: "about" },
    el("dl", {}, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    body.axes.length > 1 || (body.axes[0] && body.axes[0].name !== "__default__") ? axes(body.axes) : null);
}

function measured([name, value]) {
  if (name === "wall_ms") return ["Took", lasting(value / 1000)];
  return [name.replaceAll("_", " "), el("span", { class: "value" }, coded(plainValue(value)))];
}

// Kept beside the log: anyone who knows the address can send such a request.
function unauthenticatedSection(trial) {
  const [head, ...lines] = trial.body.unauthenticated || [];
  if (!head) return null;
  return el("section", {}, el("h3", {}, "Requests not in the log"), el("p", { class: "muted" }, head),
    el("ul", { class: "plain" }, lines.map((line) => el("li", {}, el("code", {}, line)))));
}

// Metrics are separate from the criteria, because they do not count.
function qualitySection(trial) {
  const quality = trial.body.quality;
  if (!quality) return null;
  const mark = (rating) => {
    if (rating.score !== null) return [el("meter", { min: 1, max: 5, low: 2.5, high: 3.5, optimum: 5, value: rating.score, "aria-hidden": "true" }), ` ${rating.score} of 5`];
    return rating.passed === null ? "not rated" : rating.passed ? "yes" : "no";
  };
  const rows = quality.ratings.map((rating) => el("tr", {}, el("th", { scope: "row" }, rating.name.replaceAll("_", " ")),
    el("td", { class: "number" }, mark(rating)), el("td", {}, linked(rating.reason, trial))));
  return el("section", { class: "quality" },
    el("div", { class: "heading" }, el("h3", {}, "Quality"), el("span", { class: "muted" }, "not part of the verdict")),
    quality.error ? el("p", { class: "muted" }, coded(`Not rated: ${quality.error}`)) : null,
    rows.length ? el("table", {}, el("tbody", {}, rows)) : null,
    quality.summary ? el("p", {}, linked(quality.summary, trial)) : null,
    quality.model ? el("p", { class: "assertion muted" }, "Rated by ", el("code", {}, quality.model)) : null);
}

function axes(all) {
  const row = (axis) => {
    const name = axis.name === "__default__" ? "other criteria" : axis.name;
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
    ...brief.people.map(({ name, sandbox, reached, variant, context }) =>
      ["Person", [name, sandbox ? ` on ${sandbox}` : "", reached ? `, ${reached}` : "", variant ? ` (${variant})` : "", context ? `: ${context}` : ""].join("")]),
    Object.keys(brief.slots).length ? ["Slots before", Object.entries(brief.slots).map(([name, value]) => `${name} = ${plainValue(value)}`).join(", ")] : null,
    brief.compat ? ["Assertions", `read as ${brief.compat} reads them`] : null,
    ["Where", brief.environment + (brief.description ? `: ${brief.description}` : "")],
    brief.file ? ["File", brief.file] : null,
    sandboxes.length ? ["Sandboxes", sandboxes.join(", ")] : null,
  ].filter(Boolean);
  const told = typeof instruction === "string" ? instruction : instruction === undefined ? "" : pretty(instruction);
  return el("section", { class: "brief" },
    el("h3", {}, told || Object.keys(rest).length || !brief.people.length ? "What the agent was told" : "How it began"),
    told ? el("blockquote", {}, coded(told.trim())) : null,
    brief.opening && !told ? el("blockquote", {}, coded(`“${brief.opening}”`)) : null,
    el("dl", {}, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, coded(value))))));
}
