// The list: a row for each task, which opens to its trials. It can be sorted and filtered; keys move through it.

const COLUMNS = [
  { by: "name", title: "Task" },
  { by: "result", title: "Result" },
  { by: "seconds", title: "Took", isLargestFirst: true },
  { by: "cost", title: "Cost", isLargestFirst: true },
];
const sorting = { by: "result", isReversed: false };
const groupsByTask = new Map();
let groups = [];
let current = null;

function buildList(trials) {
  groups = groupTrials(trials);
  const columns = COLUMNS.filter(({ by }) => by === "name" || by === "result" || trials.some((trial) => trial[by] !== undefined));
  const input = el("input", {
    type: "search",
    placeholder: "Search conversations and evidence",
    "aria-label": "Search names, tags, conversations, evidence and events",
    focus: prepareSearch,
    input: (event) => startSearch(event.target.value),
  });
  document.getElementById("list").replaceChildren(
    el("div", { class: "filters" }, input, filterChips(trials), el("div", { class: "active-filters", role: "group", "aria-label": "Active filters" })),
    el("p", { class: "shown", role: "status" }),
    el("div", { class: `trials columns-${columns.length}`, role: "table", "aria-label": "Tasks and their trials" },
      el("div", { class: "trials-head", role: "rowgroup" }, el("div", { role: "row" }, columns.map(columnHead))),
      el("div", { class: "trials-body", role: "rowgroup" })),
    el("p", { class: "keys" }, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next, previous  ", el("kbd", {}, "/"), " search"),
  );
  for (const group of groups) buildGroup(group, columns);
  sortRows();
  applyFilter();
}

function groupTrials(trials) {
  for (const trial of trials) {
    if (!groupsByTask.has(trial.task)) groupsByTask.set(trial.task, { task: trial.task, trials: [], isOpen: false, rows: null });
    groupOf(trial).trials.push(trial);
  }
  return [...groupsByTask.values()].map(summarizeGroup);
}

function summarizeGroup(group) {
  const { trials } = group;
  const count = (outcomes) => trials.filter((trial) => outcomes.includes(trial.outcome)).length;
  const mean = (by) => {
    const known = trials.map((trial) => trial[by]).filter((value) => value !== undefined);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : undefined;
  };
  trials.sort((a, b) => outcomeRank(a.outcome) - outcomeRank(b.outcome) || a.trial - b.trial);
  const worst = trials[0].outcome;
  const [passed, graded] = [count(["pass"]), count(["pass", "partial", "fail"])];
  return Object.assign(group, { worst, passed, graded, isFlaky: passed > 0 && passed < graded, seconds: mean("seconds"), cost: mean("cost") });
}

function outcomeRank(outcome) {
  return Object.keys(DATA.outcomes).indexOf(outcome);
}

function columnHead({ by, title, isLargestFirst }) {
  const button = el("button", { type: "button", title: by === "seconds" || by === "cost" ? "Of several trials: the mean" : null }, title);
  button.addEventListener("click", () => {
    sorting.isReversed = sorting.by === by ? !sorting.isReversed : Boolean(isLargestFirst);
    sorting.by = by;
    sortRows();
  });
  return el("span", { role: "columnheader", class: `column-${by}`, "data-by": by }, button);
}

const COMPARISONS = {
  name: (a, b) => a.task.localeCompare(b.task, "en", { numeric: true }),
  result: (a, b) => outcomeRank(a.worst) - outcomeRank(b.worst) || a.passed / (a.graded || 1) - b.passed / (b.graded || 1),
  seconds: (a, b) => a.seconds - b.seconds,
  cost: (a, b) => a.cost - b.cost,
};

// Rows without a value come last in both directions.
function sortRows() {
  const { by, isReversed } = sorting;
  const isMissing = (group) => (by === "seconds" || by === "cost") && group[by] === undefined;
  groups.sort((a, b) => isMissing(a) - isMissing(b) || (isMissing(a) ? 0 : COMPARISONS[by](a, b) * (isReversed ? -1 : 1)) || a.trials[0].number - b.trials[0].number);
  document.querySelector(".trials-body").replaceChildren(...groups.flatMap((group) => [group.node, ...(group.rows || []).map((row) => row.node)]));
  for (const head of document.querySelectorAll("[role=columnheader]")) {
    head.setAttribute("aria-sort", head.dataset.by !== by ? "none" : isReversed ? "descending" : "ascending");
  }
}

function buildGroup(group, columns) {
  group.columns = columns;
  if (group.trials.length === 1) {
    const [trial] = group.trials;
    group.rows = [];
    Object.assign(group, trialRow(trial, coded(group.task), columns));
    watchRow(group);
    return;
  }
  const outcome = group.isFlaky ? "flaky" : group.worst;
  group.toggle = el("button", { type: "button", class: "task-toggle", "aria-expanded": "false", click: () => openGroup(group, !group.isOpen) },
    icon(outcome), el("span", { class: "name" }, coded(group.task)), el("span", { class: "meta" }, groupMeta(group)));
  group.snippet = el("p", { role: "cell", class: "snippet", hidden: true });
  group.node = el("div", { role: "row", class: `row-of-task is-${outcome}` },
    el("div", { role: "rowheader" }, group.toggle),
    cells(columns, group.graded && group.worst !== "changed" ? `${group.passed} of ${group.graded}` : verdictWord(group.worst), group), group.snippet);
  watchRow(group);
}

function groupMeta(group) {
  const counts = new Map();
  for (const trial of group.trials) counts.set(trial.outcome, (counts.get(trial.outcome) || 0) + 1);
  const outcomes = [...counts].sort(([a], [b]) => outcomeRank(a) - outcomeRank(b)).map(([outcome, number]) => `${number} ${verdictWord(outcome).toLowerCase()}`);
  return [group.isFlaky ? el("b", { class: "flaky-word" }, "flaky") : null, group.isFlaky ? " · " : null, outcomes.join(", ")];
}

function trialMarks(trial) {
  return [
    trial.attempt > 1 ? `attempt ${trial.attempt}` : "",
    trial.timed_out ? "timed out" : "",
    trial.crashed ? "agent crashed" : "",
    trial.changed || "",
    trial.failed_criteria ? `${trial.failed_criteria} failed ${trial.failed_criteria === 1 ? "criterion" : "criteria"}` : "",
  ].filter(Boolean);
}

function trialRow(trial, name, columns) {
  const score = trial.score === null ? "" : `score ${trial.score.toFixed(2)}`;
  const link = el("a", { href: `#t${trial.number}` },
    icon(trial.outcome),
    el("span", { class: "name" }, name),
    el("span", { class: "meta" }, [score, ...trialMarks(trial)].filter(Boolean).join(" · ")));
  const found = el("p", { role: "cell", class: "snippet", hidden: true });
  const node = el("div", { role: "row", class: `row-of-trial is-${trial.outcome}` },
    el("div", { role: "rowheader" }, link), cells(columns, verdictWord(trial.outcome), trial), found);
  return { trial, link, node, snippet: found };
}

function cells(columns, result, { seconds, cost }) {
  const values = { result, seconds: seconds === undefined ? "" : lasting(seconds), cost: cost === undefined ? "" : dollars(cost) };
  return columns.slice(1).map(({ by }) => el("span", { role: "cell", class: `column-${by}` }, values[by]));
}

// Two significant digits: a trial costs cents or less.
function dollars(amount) {
  return amount === 0 || amount >= 1 ? `$${amount.toFixed(2)}` : `$${Number(amount.toPrecision(2))}`;
}

// The rows of trials are made when their task is first opened.
function openGroup(group, isOpen) {
  group.isOpen = isOpen;
  group.toggle.setAttribute("aria-expanded", String(isOpen));
  if (group.rows === null) {
    group.rows = group.trials.map((trial) => trialRow(trial, `Trial ${trial.trial}`, group.columns));
    for (const row of group.rows) {
      row.node.classList.add("inner");
      watchRow(row);
    }
    group.node.after(...group.rows.map((row) => row.node));
  }
  for (const row of group.rows) row.node.hidden = !isOpen || !passesFilter(row.trial);
  showSnippets();
}

function showRows() {
  let [tasks, left] = [0, 0];
  for (const group of groups) {
    const shown = group.trials.filter(passesFilter).length;
    group.node.hidden = shown === 0;
    for (const row of group.rows || []) row.node.hidden = !group.isOpen || !passesFilter(row.trial);
    tasks += shown > 0;
    left += shown;
  }
  const { length: all } = DATA.trials;
  const number = left === all ? plural(all, "trial") : `${left.toLocaleString("en")} of ${plural(all, "trial")}`;
  const note = search.found === null ? "" : notSearched();
  document.querySelector(".shown").textContent = [groups.length < all ? `${number} of ${plural(tasks, "task")}.` : `${number}.`, note].filter(Boolean).join(" ");
  showSnippets();
}

// Where the words of a search stand. It is written only into rows that are in sight.
function showSnippets() {
  for (const row of rowsInSight) showSnippet(row);
}

// In the row of a trial, or of a closed task for its first trial that has the words.
function showSnippet(row) {
  const trial = row.trial || (row.isOpen ? null : row.trials.find(passesFilter));
  const [hit] = search.found === null || !trial || row.node.hidden ? [] : findHits(trial);
  row.snippet.hidden = !hit || hit.place === 0;
  if (row.snippet.hidden) return;
  row.snippet.replaceChildren(el("a", { href: hit.href }, hit.where), " ", ...snippet(hit.text, 110).flat());
}

function watchRow(row) {
  rowsByNode.set(row.node, row);
  watcher.observe(row.node);
}

const rowsByNode = new WeakMap();
const rowsInSight = new Set();
const watcher = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    const row = rowsByNode.get(target);
    if (!isIntersecting) rowsInSight.delete(row);
    else if (!rowsInSight.has(row)) {
      rowsInSight.add(row);
      showSnippet(row);
    }
  }
});

function groupOf(trial) {
  return groupsByTask.get(trial.task);
}

function rowOf(trial) {
  const group = groupOf(trial);
  return group.trials.length === 1 ? group : group.rows.find((row) => row.trial === trial);
}

function mark(number) {
  const trial = DATA.trials[number - 1];
  const group = groupOf(trial);
  if (group.trials.length > 1 && !group.isOpen) openGroup(group, true);
  if (current) current.removeAttribute("aria-current");
  const row = rowOf(trial);
  current = row.link;
  current.setAttribute("aria-current", "true");
  reveal(row.node);
}

// Scrolls the list alone; scrollIntoView would move the page too.
function reveal(node) {
  const box = node.parentElement;
  const above = node.offsetTop - box.offsetTop;
  if (above < box.scrollTop) box.scrollTop = above;
  else if (above + node.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = above + node.offsetHeight - box.clientHeight;
  }
}

// The trials in the order of the list.
function listedTrials() {
  return groups.flatMap((group) => group.trials);
}

// The next trial that the filter lets through.
function neighbour(number, step) {
  const listed = listedTrials();
  const place = listed.findIndex((trial) => trial.number === number);
  const visible = (trials) => trials.filter(passesFilter).map((trial) => trial.number);
  const [before, after] = [visible(listed.slice(0, place)), visible(listed.slice(place + 1))];
  const next = step > 0 ? after[0] : before.at(-1);
  if (next !== undefined) return next;
  return passesFilter(listed[place]) ? null : (step > 0 ? before[0] : after.at(-1)) || null;
}

function move(step) {
  return selected ? goTo(neighbour(selected, step)) : null;
}

function goTo(number) {
  if (number !== null) location.hash = `#t${number}`;
  return number;
}

// From the row of a task: down to its first trial, up to the last trial before it.
function moveFromTask(node, step) {
  const { trials } = rowsByNode.get(node);
  return goTo(step > 0 ? trials.find(passesFilter).number : neighbour(trials[0].number, step));
}

function onKey(event) {
  const typing = event.target.matches("input, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && event.key === "Escape") {
    event.target.value = "";
    startSearch("");
    event.target.blur();
  }
  if (typing && event.key === "Enter" && selected && !passesFilter(DATA.trials[selected - 1])) move(1);
  if (typing && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#list input").focus();
  }
  const inList = event.target.closest("#list") !== null;
  const step = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
  const task = inList && event.key.startsWith("Arrow") ? event.target.closest(".row-of-task") : null;
  const next = !step ? null : task ? moveFromTask(task, step) : move(step);
  if (next === null) return;
  event.preventDefault();
  if (inList && !typing) {
    mark(next);
    rowOf(DATA.trials[next - 1]).link.focus({ preventScroll: true });
  }
}
