// Full-text search over names, conversations, evidence and events. It works in short slices, so that the page never freezes.

const SLICE = 12; // milliseconds
const MOST_HITS = 12;
const MOST_HIGHLIGHTS = 2000;
const search = { terms: [], found: null };

// Words, and phrases in quotes.
function parseTerms(text) {
  return [...text.matchAll(/"([^"]+)"|[^\s"]+/g)].map((term) => fold(term[1] || term[0]).trim()).filter(Boolean);
}

function fold(text) {
  return text.replace(/[^\S ]\s*| \s+/g, " ").toLowerCase();
}

// Works through some items in slices; a later call with the same name replaces it.
const latest = new Map();
function workThrough(name, items, work, done, report) {
  const token = {};
  latest.set(name, token);
  let place = 0;
  function step() {
    if (latest.get(name) !== token) return;
    const end = performance.now() + SLICE;
    while (place < items.length && performance.now() < end) {
      work(items[place]);
      place += 1;
    }
    if (place === items.length) {
      done();
      return;
    }
    report(place);
    setTimeout(step);
  }
  step();
}

function startSearch(text) {
  const terms = parseTerms(text);
  const found = new Set();
  const look = (trial) => {
    const content = searchText(trial);
    if (terms.every((term) => content.includes(term))) found.add(trial.number);
  };
  latest.delete("index");
  workThrough("search", terms.length ? DATA.trials : [], look, () => finishSearch(terms, terms.length ? found : null), (place) => {
    document.querySelector(".shown").textContent = `Searching: ${place.toLocaleString("en")} of ${plural(DATA.trials.length, "trial")}`;
  });
}

function finishSearch(terms, found) {
  Object.assign(search, { terms, found });
  applyFilter();
  if (selected) showHits(DATA.trials[selected - 1]);
}

// Prepares the texts while the first words are typed.
function prepareSearch() {
  workThrough("index", DATA.trials, searchText, () => {}, () => {});
}

// The folded text of a trial, built when it is first searched.
function searchText(trial) {
  if (trial.searchText === undefined) trial.searchText = fold(passages(trial).map((passage) => passage.text).join("\n"));
  return trial.searchText;
}

// The texts of a trial, each with its place in words and its address.
function passages(trial) {
  const here = `#t${trial.number}`;
  const { body } = trial;
  const parts = [["Name and tags", here, [trial.task, trial.tags, trialMarks(trial)]]];
  if (body) {
    const { task_item: { instruction, ...rest } = {}, ...brief } = body.brief || {};
    parts.push(
      ["Reason", here, body.reason],
      ["Error", here, [body.error, body.agent_error]],
      ["Answer", here, body.answer],
      ["Instruction", here, [instruction, rest, brief.opening, brief.slots]],
      ["Person", here, brief.people],
      ["Environment", here, [brief.environment, brief.description, brief.file]],
      ...body.criteria.map((criterion, place) => ["Criterion", `${here}k${place}`,
        [criterion.label, criterion.assertion, criterion.axis, criterion.input_entity_id, criterion.detail, criterion.traceback, evidenceTexts(criterion)]]),
      ["Quality", here, body.quality],
      ...body.attachments.map(({ title, text }) => [title, here, text]),
      ["Requests not in the log", here, body.unauthenticated],
      ...(trial.log.length ? [] : body.calls || []).map((call) => ["Phone call", here, call.moments.map((moment) => moment.text)]),
    );
  }
  parts.push(...trial.log.map((event) => [passageName(event), `${here}e${event.seq}`, eventTexts(event)]));
  return parts.map(([where, href, value]) => ({ where, href, text: texts(value).join(" · ") })).filter((passage) => passage.text);
}

function evidenceTexts(criterion) {
  return [
    criterion.evidence.map((check) => [check.path, check.expected, check.actual, check.differences]),
    (criterion.pages || []).map((page) => [page.caption, page.marks.map((mark) => mark.text)]),
  ];
}

function eventTexts({ kind, line, payload, request }) {
  if (isMessage({ kind, payload })) return [payload.text, payload.header, (payload.buttons || []).map((button) => button.title || button), payload.custom];
  return [kind, line, payload, request ? [request.path, request.query, request.answer, request.body] : null];
}

function passageName(event) {
  if (!isMessage(event)) return `Event #${event.seq}, ${event.source}`;
  return `${event.actor === "agent" ? "Agent" : event.actor === "person" ? "Person" : event.actor}, turn ${event.payload.turn}`;
}

// Every name and value in some data.
function texts(value, found = []) {
  if (value === "" || value === null || value === undefined) return found;
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value)) for (const item of value) texts(item, found);
  else if (typeof value === "object") {
    for (const [name, item] of Object.entries(value)) {
      if (item === null || typeof item === "object") texts([name, item], found);
      else found.push(`${name} ${item}`);
    }
  } else found.push(String(value));
  return found;
}

// The passages with the most of the words, the name last: it stands in the list anyway.
function findHits(trial) {
  const hits = passages(trial).map((passage, place) => {
    const content = fold(passage.text);
    return { ...passage, place, count: search.terms.filter((term) => content.includes(term)).length };
  }).filter((hit) => hit.count);
  return hits.sort((a, b) => b.count - a.count || (a.place === 0) - (b.place === 0) || a.place - b.place);
}

// A part of a text around the first word, which is marked.
function snippet(text, width) {
  const line = plainText(text.replace(/\s+/g, " "));
  const places = search.terms.map((term) => line.toLowerCase().indexOf(term)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, line.length) - Math.round(width / 3));
  const cut = line.slice(start, start + width);
  return [start > 0 ? "…" : "", marked(cut), start + width < line.length ? "…" : ""];
}

function marked(text) {
  const parts = [];
  let end = 0;
  for (const [from, to] of termRanges(text)) {
    parts.push(text.slice(end, from), el("mark", {}, text.slice(from, to)));
    end = to;
  }
  return [...parts, text.slice(end)];
}

// Where the words stand in a text, in order and without overlaps.
function termRanges(text) {
  const content = text.toLowerCase();
  const ranges = [];
  for (const term of search.terms) {
    for (let from = content.indexOf(term); from >= 0; from = content.indexOf(term, from + term.length)) ranges.push([from, from + term.length]);
  }
  ranges.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let end = 0;
  return ranges.filter(([from, to]) => {
    if (from < end) return false;
    end = to;
    return true;
  });
}

// Above the trial: where the words stand in it, with links.
function showHits(trial) {
  const box = document.querySelector("#trial .hits");
  const hits = search.terms.length ? findHits(trial) : [];
  box.hidden = !hits.length;
  box.replaceChildren(
    el("h3", {}, `Found in ${plural(hits.length, "place")} of this trial`),
    el("ul", {}, hits.slice(0, MOST_HITS).map((hit) => el("li", {}, el("a", { href: hit.href }, hit.where), " ", el("span", {}, snippet(hit.text, 160))))),
    hits.length > MOST_HITS ? el("p", { class: "muted" }, `and ${plural(hits.length - MOST_HITS, "more place")}`) : "");
  highlight(document.getElementById("trial"));
}

// Marks the words in the trial itself, in browsers that can do so without a change to the page.
function highlight(root) {
  if (!window.Highlight || !CSS.highlights) return;
  if (!search.terms.length) {
    CSS.highlights.delete("found");
    return;
  }
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_HIGHLIGHTS; node = walker.nextNode()) {
    for (const [from, to] of termRanges(node.data)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, to);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

// What a search cannot find, because it is not in this page.
function notSearched() {
  const cut = DATA.trials.filter((trial) => !trial.body || trial.log.length < trial.body.events).length;
  return cut ? `Not searched: events of ${plural(cut, "trial")}, left out to keep the page small.` : "";
}
