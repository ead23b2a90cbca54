// What the list shows: trials of one verdict, of a template, of rows of the overview, flaky ones, or those with some words.

const filter = { outcome: "", template: "", isFlaky: false, rows: new Map() };
const toggles = [];

function passesFilter(trial) {
  return (!filter.outcome || trial.outcome === filter.outcome)
    && (!filter.template || trial.template === filter.template)
    && (!filter.isFlaky || trial.flaky !== undefined)
    && [...filter.rows].every(([by, row]) => (trial[by] || []).includes(row.number))
    && (search.found === null || search.found.has(trial.number));
}

// A button that stays pressed while its filter holds.
function filterButton(button, isPressed, press) {
  button.setAttribute("type", "button");
  button.addEventListener("click", () => {
    press(isPressed());
    applyFilter();
    if (!passesFilter(DATA.trials[selected - 1])) move(1);
    if (button.closest("header")) showList();
  });
  toggles.push(() => button.setAttribute("aria-pressed", String(isPressed())));
  return button;
}

function outcomeButton(button, outcome) {
  return filterButton(button, () => filter.outcome === outcome, (isOn) => { filter.outcome = isOn ? "" : outcome; });
}

// The header is readable without a script; with one, each of its counts is a button that shows the trials it counts.
function buildOverviewButtons() {
  for (const item of document.querySelectorAll(".tally li:not(.none)")) {
    item.replaceChildren(outcomeButton(el("button", { class: "count" }, [...item.childNodes]), item.dataset.outcome));
  }
  for (const row of document.querySelectorAll(".breakdown li")) {
    const { by } = row.closest(".breakdown").dataset;
    const number = Number(row.dataset.number);
    const text = row.querySelector(".row-text").textContent;
    const isPressed = () => filter.rows.has(by) && filter.rows.get(by).number === number;
    row.replaceChildren(filterButton(el("button", { class: "row-button", title: "Show only these trials" }, row.firstElementChild), isPressed,
      (isOn) => (isOn ? filter.rows.delete(by) : filter.rows.set(by, { number, text }))));
  }
  for (const cell of document.querySelectorAll(".templates tbody th")) {
    const { template } = cell.dataset;
    cell.replaceChildren(filterButton(el("button", { class: "of-template", title: "Show only its trials" }, [...cell.childNodes]),
      () => filter.template === template, (isOn) => { filter.template = isOn ? "" : template; }));
  }
}

function filterChips(trials) {
  const counts = new Map();
  for (const trial of trials) counts.set(trial.outcome, (counts.get(trial.outcome) || 0) + 1);
  const flaky = new Set(trials.filter((trial) => trial.flaky !== undefined).map((trial) => trial.task)).size;
  if (counts.size < 2) return null;
  const chip = (outcome) => outcomeButton(el("button", { class: `chip is-${outcome}` },
    icon(outcome), `${verdictWord(outcome)} ${counts.get(outcome).toLocaleString("en")}`), outcome);
  const all = filterButton(el("button", { class: "chip", title: "Remove all filters" }, `All ${trials.length.toLocaleString("en")}`),
    () => activeFilters().length === 0, () => Object.assign(filter, { outcome: "", template: "", isFlaky: false, rows: new Map() }));
  const outcomes = Object.keys(DATA.outcomes).filter((outcome) => counts.has(outcome));
  return el("div", { class: "chips", role: "group", "aria-label": "Filter trials by verdict" },
    all, outcomes.map(chip),
    flaky ? filterButton(el("button", { class: "chip is-flaky", title: "Tasks of which some trials passed and some did not" }, icon("flaky"), `Flaky ${plural(flaky, "task")}`),
      () => filter.isFlaky, (isOn) => { filter.isFlaky = !isOn; }) : null);
}

// The filters that hold, each with a button that removes it.
function activeFilters() {
  const names = { cause: "Cause", criterion: "Criterion", check: "Check on every task", tag: "Tag", flaky: "Flaky" };
  const active = [
    filter.outcome ? [`Verdict: ${verdictWord(filter.outcome)}`, () => { filter.outcome = ""; }] : null,
    filter.isFlaky ? ["Flaky tasks", () => { filter.isFlaky = false; }] : null,
    filter.template ? [`Template: ${plainText(filter.template)}`, () => { filter.template = ""; }] : null,
    ...[...filter.rows].map(([by, row]) => [`${names[by]}: ${row.text}`, () => filter.rows.delete(by)]),
  ].filter(Boolean);
  return active.map(([text, remove]) => el("button", {
    type: "button",
    class: "active-filter",
    "aria-label": `Remove the filter ${text}`,
    click: () => {
      remove();
      applyFilter();
      document.querySelector("#list input").focus({ preventScroll: true });
    },
  }, el("span", {}, text), el("span", { "aria-hidden": "true" }, "×")));
}

function applyFilter() {
  for (const update of toggles) update();
  document.querySelector(".active-filters").replaceChildren(...activeFilters());
  showRows();
}

// After a click in the header, scrolls to the list if it is out of sight.
function showList() {
  const list = document.getElementById("list");
  if (list.getBoundingClientRect().top > window.innerHeight * 0.6) list.scrollIntoView({ block: "start" });
}
