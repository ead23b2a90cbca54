// The list of trials, its filters, and the keys that move through it.

const filter = { outcome: "", text: "", template: "" };
let items = [];

function buildList(trials) {
  items = trials.map(listItem);
  const search = el("input", {
    type: "search",
    placeholder: "Filter by name or tag",
    "aria-label": "Filter trials by name or tag",
    input: (event) => narrow({ text: event.target.value }),
  });
  document.getElementById("list").replaceChildren(
    el("div", { class: "filters" }, search, outcomeChips(trials)),
    el("p", { class: "shown", role: "status" }),
    el("ol", { class: "trials" }, items.map((item) => item.node)),
    el("p", { class: "keys" }, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next, previous  ", el("kbd", {}, "/"), " filter"),
  );
  narrow({});
}

function listItem(trial) {
  const score = trial.score === null ? "" : trial.score.toFixed(2);
  const marks = [
    trial.trial > 1 ? `trial ${trial.trial}` : "",
    trial.attempt > 1 ? `attempt ${trial.attempt}` : "",
    trial.timed_out ? "timed out" : "",
    trial.crashed ? "agent crashed" : "",
    trial.changed || "",
    trial.failed_criteria ? `${trial.failed_criteria} failed ${trial.failed_criteria === 1 ? "criterion" : "criteria"}` : "",
  ].filter(Boolean);
  const link = el("a", { href: `#t${trial.number}`, class: `is-${trial.outcome}` },
    icon(trial.outcome),
    el("span", { class: "name" }, coded(trial.task)),
    el("span", { class: "meta" }, [verdictWord(trial.outcome), score, ...marks].filter(Boolean).join(" · ")));
  const text = [trial.task, ...trial.tags, ...marks].join("\n").toLowerCase();
  return { trial, text, link, node: el("li", {}, link) };
}

function outcomeChips(trials) {
  const counts = new Map();
  for (const trial of trials) counts.set(trial.outcome, (counts.get(trial.outcome) || 0) + 1);
  if (counts.size < 2) return null;
  const chip = (outcome, number) => el("button", {
    type: "button",
    class: `chip ${outcome ? `is-${outcome}` : ""}`,
    "data-outcome": outcome,
    "aria-pressed": String(!outcome),
    click: () => showOnly(outcome),
  }, outcome ? icon(outcome) : null, `${outcome ? verdictWord(outcome) : "All"} ${number.toLocaleString("en")}`);
  const found = Object.keys(DATA.outcomes).filter((outcome) => counts.has(outcome));
  return el("div", { class: "chips", role: "group", "aria-label": "Filter trials by verdict" },
    chip("", trials.length), found.map((outcome) => chip(outcome, counts.get(outcome))));
}

function showOnly(outcome) {
  narrow({ outcome });
  if (items[selected - 1].node.hidden) move(1);
}

// A template of the header shows its trials alone; once more, and all are shown again.
function filterByTemplate() {
  for (const cell of document.querySelectorAll(".templates tbody th")) {
    const { template } = cell.dataset;
    cell.replaceChildren(el("button", {
      type: "button",
      class: "of-template",
      title: "Show only its trials",
      "data-template": template,
      "aria-pressed": "false",
      click: () => {
        narrow({ template: filter.template === template ? "" : template });
        if (items[selected - 1].node.hidden) move(1);
      },
    }, [...cell.childNodes]));
  }
}

function narrow(change) {
  Object.assign(filter, change);
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of items) {
    const fits = (!filter.outcome || item.trial.outcome === filter.outcome) && (!filter.template || item.trial.template === filter.template);
    item.node.hidden = !(fits && words.every((word) => item.text.includes(word)));
  }
  for (const chip of document.querySelectorAll(".chip")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.outcome === filter.outcome));
  }
  for (const button of document.querySelectorAll(".of-template")) {
    button.setAttribute("aria-pressed", String(button.dataset.template === filter.template));
  }
  const left = items.filter((item) => !item.node.hidden).length;
  const all = left === items.length;
  const told = all ? plural(left, "trial") : `${left} of ${plural(items.length, "trial")}`;
  document.querySelector(".shown").textContent = filter.template ? `${told}, of “${filter.template}”` : told;
}

function mark(number) {
  for (const item of items) {
    if (item.trial.number === number) item.link.setAttribute("aria-current", "true");
    else item.link.removeAttribute("aria-current");
  }
  reveal(items[number - 1].node);
}

// Scrolls the list alone; scrollIntoView would move the page too.
function reveal(node) {
  const box = node.parentElement;
  const above = node.offsetTop;
  if (above < box.scrollTop) box.scrollTop = above;
  else if (above + node.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = above + node.offsetHeight - box.clientHeight;
  }
}

// The next trial that the filter lets through; from one it does not, the first or last that it does.
function neighbour(number, step) {
  const visible = items.filter((item) => !item.node.hidden).map((item) => item.trial.number);
  const next = step > 0 ? visible.find((other) => other > number) : visible.findLast((other) => other < number);
  if (next) return next;
  return visible.includes(number) ? null : visible.at(step > 0 ? 0 : -1) || null;
}

function move(step) {
  const next = neighbour(selected, step);
  if (next !== null) location.hash = `#t${next}`;
  return next;
}

function onKey(event) {
  const typing = event.target.matches("input, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && event.key === "Escape") {
    event.target.value = "";
    narrow({ text: "" });
    event.target.blur();
  }
  if (typing && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#list input").focus();
  }
  const inList = event.target.closest("#list") !== null;
  const step = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
  const next = step ? move(step) : null;
  if (next === null) return;
  event.preventDefault();
  if (inList && !typing) items[next - 1].link.focus({ preventScroll: true });
}
