// Criteria with their evidence: what was expected beside what was found.

const URGENCY = { fail: 0, errored: 1, partial: 2, skipped: 3, pass: 4 };
const CRITERION_WORDS = { fail: "Failed", errored: "Error", partial: "Warning", skipped: "Skipped", pass: "Passed" };
const ROW_WORDS = { fail: "not as expected: ", skipped: "not checked: ", pass: "as expected: " };
const NOT_REACHED = "(not reached)"; // a step of `sequencing` behind a missing one

function criterionOutcome(criterion) {
  if (criterion.status === "error") return "errored";
  if (criterion.status === "skipped") return "skipped";
  return criterion.passed ? "pass" : criterion.monitor && !criterion.gate ? "partial" : "fail";
}

function criteriaSection(trial) {
  const criteria = trial.body.criteria;
  if (!criteria.length) return el("section", {}, el("h3", {}, "Criteria"), el("p", { class: "muted" }, "There are no criteria."));
  const sorted = [...criteria].sort((a, b) => URGENCY[criterionOutcome(a)] - URGENCY[criterionOutcome(b)]);
  const cards = sorted.filter((c) => !c.implied).map((criterion) => criterionCard(criterion, trial));
  return el("section", { class: "criteria" },
    el("div", { class: "heading" }, el("h3", {}, "Criteria"), el("span", { class: "muted" }, trial.body.undecided || trial.body.criteria_count), cards.length ? unfold(cards) : null),
    cards, everyTaskChecks(sorted.filter((c) => c.implied), trial));
}

// What no author wrote stands apart and is not counted; it is folded unless something in it did not pass.
function everyTaskChecks(checks, trial) {
  if (!checks.length) return null;
  const outcomes = checks.map(criterionOutcome);
  const counts = Object.keys(URGENCY)
    .map((name) => [name, outcomes.filter((outcome) => outcome === name).length])
    .filter(([, number]) => number)
    .map(([name, number]) => `${number} ${CRITERION_WORDS[name].toLowerCase()}`);
  const isOpen = !trial.body.undecided && outcomes.some((outcome) => outcome !== "pass" && outcome !== "skipped");
  return el("details", { class: "checks", open: isOpen },
    el("summary", { class: "muted" }, `Checked on every task: ${counts.join(", ")}`), checks.map((check) => criterionCard(check, trial)));
}

function unfold(cards) {
  const button = el("button", { type: "button", class: "quiet push" }, "Show all evidence");
  button.addEventListener("click", () => {
    const open = !cards.every((card) => card.open);
    for (const card of cards) card.open = open;
    button.textContent = open ? "Hide evidence" : "Show all evidence";
  });
  return button;
}

function criterionCard(criterion, trial) {
  const outcome = criterionOutcome(criterion);
  const badges = [
    criterion.gate ? badge("gate", "gate", "If it fails, the verdict is fail, whatever the score") : null,
    criterion.monitor ? badge("monitor", "", "It runs on every task") : null,
    criterion.monitor && !criterion.gate ? badge("warning only", "", "It changes no verdict") : null,
    criterion.weight !== 1 && !criterion.implied ? badge(`weight ${criterion.weight}`, "", "Weight in the score") : null,
    criterion.axis ? badge(criterion.axis, "axis", "Axis of the score") : null,
    criterion.input_entity_id ? badge(`about ${criterion.input_entity_id}`, "", "The record that it checks") : null,
    outcome !== "pass" && criterion.score > 0 ? badge(`score ${criterion.score.toFixed(2)}`) : null,
  ];
  const decides = !trial.body.undecided; // else it is folded away, and without a colour
  return el("details", { id: `t${trial.number}k${trial.body.criteria.indexOf(criterion)}`, class: decides ? `criterion is-${outcome}` : "criterion is-skipped", open: decides && outcome !== "pass" },
    el("summary", {},
      icon(decides ? outcome : "skipped"),
      el("span", { class: "label" }, el("span", { class: "word" }, decides ? CRITERION_WORDS[outcome] : "Not judged"), " ", coded(criterion.label)),
      el("span", { class: "badges" }, badges)),
    el("div", { class: "inside" },
      criterion.detail ? el("p", { class: "sentence" }, linked(criterion.detail, trial)) : null,
      criterion.traceback ? el("pre", { tabindex: "0" }, criterion.traceback) : null,
      citedPages(criterion, trial),
      evidenceOf(criterion, trial),
      el("p", { class: "assertion muted" }, "Assertion ", el("code", {}, criterion.assertion))));
}

// What a model's verdict stands on is told as such: places it cites, votes, who it was. The rest is compared.
function evidenceOf(criterion, trial) {
  const cites = criterion.evidence.filter(isCite);
  const votes = criterion.evidence.find((check) => check.path === "votes" && check.actual && check.actual.each);
  const judge = criterion.evidence.find((check) => check.path === "judge" && check.actual && check.actual.model);
  const rest = criterion.evidence.filter((check) => !judge || (check !== judge && check !== votes && !cites.includes(check)));
  if (!judge) return criterion.evidence.length ? evidenceTable(criterion, criterion.evidence, trial) : el("p", { class: "muted" }, "No evidence was recorded.");
  return [
    cites.length ? el("ul", { class: "cites" }, cites.map((cite) => citeLine(cite, trial))) : null,
    votes ? voteList(votes.actual, trial) : null,
    rest.length ? evidenceTable(criterion, rest, trial) : null,
    el("p", { class: "assertion muted" }, "Judge ", el("code", {}, judge.actual.model), " · prompt ", el("code", {}, judge.actual.prompt),
      Object.keys(judge.actual.parameters || {}).length ? [" · ", el("code", {}, oneLine(JSON.stringify(judge.actual.parameters), 300))] : null),
  ];
}

function isCite(check) {
  return /^(T\d+(\.\d+)?|#\d+(\.\.#\d+)?)$/.test(check.path) && check.expected && typeof check.expected.contains === "string";
}

function citeLine(cite, trial) {
  return el("li", {}, el("b", {}, cite.path), " ", el("q", {}, coded(cite.expected.contains)), " ", cite.expected.moved_from ? el("span", { class: "muted" }, `moved from ${cite.expected.moved_from} `) : null, cite.seq ? eventLink(trial, cite.seq) : null);
}

function voteList(votes, trial) {
  const word = (vote) => ("error" in vote ? "errored" : vote.passed ? "pass" : "fail");
  const lines = votes.each.map((vote) => el("li", { class: `is-${word(vote)}` }, icon(word(vote)),
    el("span", {}, el("b", {}, { pass: "pass", fail: "fail", errored: "not cast" }[word(vote)]), " ", linked(vote.reasoning || vote.error || "", trial))));
  const split = votes.for && votes.against;
  return el("details", { class: "votes", open: Boolean(split || votes.not_cast) },
    el("summary", {}, `Votes: ${votes.for} pass, ${votes.against} fail${votes.not_cast ? `, ${votes.not_cast} not cast` : ""}`),
    el("ol", {}, lines));
}

function evidenceTable(criterion, evidence, trial) {
  const head = ["Field", "Expected", "Actual", "Event"].map((title) => el("th", { scope: "col" }, title));
  const rows = evidence.flatMap((check) => [evidenceRow(check, check.path, check, trial), ...differenceRows(check, trial)]);
  return [
    el("table", { class: "evidence" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    criterion.evidence_left_out ? el("p", { class: "muted" }, `${plural(criterion.evidence_left_out, "more row")} of evidence not shown.`) : null,
  ];
}

function evidenceRow(check, path, values, trial) {
  const whole = (value) => (values.differences ? el("details", {}, el("summary", {}, "whole value"), value) : value);
  const outcome = check.passed ? "pass" : check.actual === NOT_REACHED ? "skipped" : "fail";
  return el("tr", { class: `is-${outcome}` },
    el("th", { scope: "row" }, icon(outcome),
      el("span", { class: "hidden" }, ROW_WORDS[outcome]), el("span", {}, breakable(path))),
    el("td", { "data-label": "Expected" }, whole(expectedValue(values.expected))),
    el("td", { "data-label": "Actual" }, whole(el("div", { class: "value actual" }, coded(plainValue(values.actual))))),
    el("td", { class: "at" }, check.seq ? [eventLink(trial, check.seq), callLink(trial, check.seq)] : null));
}

// Of two nested values that differ: a row for each path, and how many more there are.
function differenceRows(check, trial) {
  const rows = (check.differences || []).map((one) => evidenceRow({ passed: false, seq: null }, `${check.path}: ${one.path}`, one, trial));
  if (check.differences_left_out) {
    rows.push(el("tr", { class: "is-fail" }, el("td", { colspan: "4", class: "muted" }, `${plural(check.differences_left_out, "more difference")} not shown.`)));
  }
  return rows;
}

// What the evidence of failed criteria says of an event, shown where the event stands.
function citedBy(trial, seq) {
  return trial.body.marks.filter((mark) => mark.seq === seq).map((mark) => {
    const outcome = mark.passed ? "pass" : "fail";
    return el("span", { class: `cited is-${outcome}` }, icon(outcome),
      el("span", { class: "hidden" }, mark.passed ? "as expected: " : "not as expected: "), coded(oneLine(mark.text, 90)));
  });
}
