// Opens the page on the trial its address names, or on the first of the list, which has failures first.

let selected = 0;

function prepare(trial, place) {
  trial.number = place + 1;
  trial.log = trial.log || [];
  trial.bySeq = new Map(trial.log.map((event) => [event.seq, event]));
}

function route() {
  // e: an event; m: a moment of a call; c: a call; k: a criterion; `#failed`: the first failed criterion of the first trial
  const [, number, sort, place] = /^#t(\d+)(?:([emck])(\d+))?$/.exec(location.hash) || [];
  const trial = DATA.trials[Number(number || selected || listedTrials()[0].number) - 1];
  if (!trial) return;
  if (trial.number !== selected) select(trial);
  if (sort === "e") showEvent(trial, Number(place));
  if (sort === "m") showMoment(trial, Number(place));
  if (sort === "k") showCriterion(trial, Number(place));
  if (location.hash === "#failed") showCriterion(trial, trial.body.criteria.findIndex((criterion) => criterionOutcome(criterion) === "fail"));
}

function select(trial) {
  const opening = selected === 0;
  selected = trial.number;
  for (const event of trial.log) event.row = null;
  const article = document.getElementById("trial");
  article.replaceChildren(...trialView(trial));
  if (trial.timeline) drawArrows(trial.timeline);
  showHits(trial);
  mark(trial.number);
  const top = article.getBoundingClientRect().top;
  if (!opening && (top < 0 || top > window.innerHeight / 2)) article.scrollIntoView({ block: "start" });
}

function unfoldForPrint() {
  for (const fold of document.querySelectorAll("#trial details")) fold.open = true;
}

function copyable() {
  for (const code of document.querySelectorAll("header code.copy")) code.after(" ", copyButton(code.textContent, "the command"));
}

function start() {
  document.querySelector("main").hidden = false;
  copyable();
  document.querySelector("main").before(...[pictureNote()].filter(Boolean));
  DATA.trials.forEach(prepare);
  buildOverviewButtons();
  buildList(DATA.trials);
  if (DATA.trials.length) route();
  window.addEventListener("hashchange", route);
  window.addEventListener("beforeprint", unfoldForPrint);
  document.addEventListener("keydown", onKey);
}

start();
