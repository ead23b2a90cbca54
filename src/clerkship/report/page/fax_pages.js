// Pages of faxes as pictures: small ones that open large, and those that a criterion read, with marks on them.

const PAGE_STORED = "fax.page.stored";
const MARK_WORDS = { found: "Found", forbidden: "Must not be there", missing: "Missing" };
const MARK_OUTCOMES = { found: "pass", forbidden: "fail", missing: "fail" };
const MOST_CLOSE_UPS = 12;

function source(hash) {
  const page = DATA.pictures[hash];
  return page ? `data:image/png;base64,${page.png}` : null;
}

// A page that is not in this report is named, with the reason.
function absentPage(text) {
  const reason = DATA.pictures_problem || DATA.pictures_redacted ? "not shown, see the note above the trials" : "not in this report, to keep it small";
  return el("p", { class: "absent-page" }, `${text}: ${reason}.`);
}

function sheet(view, alt) {
  const { width, height } = DATA.pictures[view.hash];
  return el("span", { class: "sheet" },
    el("img", { src: source(view.hash), alt, width, height }),
    view.marks && view.marks.length ? markLayer(view, width, height) : null);
}

// Boxes are in dots of the page; the layer has the same shape as the picture.
function markLayer(view, width, height) {
  const boxes = view.marks.flatMap((mark, place) => mark.boxes.map(([left, top, wide, high]) => markBox(mark, place, left, top, wide, high)));
  return svg("svg", { class: "marks", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, boxes);
}

function markBox(mark, place, left, top, wide, high) {
  const edge = 7;
  return svg("g", { class: `mark-box is-${mark.sort}`, "data-mark": place },
    svg("rect", { x: left - edge, y: top - edge, width: wide + 2 * edge, height: high + 2 * edge, rx: 6 }));
}

function faxTitle(fax) {
  return `${fax.arrived ? "Fax from" : "Fax to"} ${fax.arrived ? fax.sender : fax.to}`;
}

// The line of an event about a fax or one of its pages; null for other events.
function faxGist(event) {
  const { fax, payload } = event;
  if (event.kind === PAGE_STORED) return `${payload.width} × ${payload.height} dots, ${payload.resolution}, SHA-256 ${oneLine(payload.hash, 12)}`;
  if (!fax) return null;
  const names = fax.documents.filter(Boolean).join(", ");
  return [el("span", { class: "field" }, fax.arrived ? "from " : "to "), `${fax.arrived ? fax.sender : fax.to}  `, `${plural(fax.total, "page")}  `,
    names ? [el("span", { class: "field" }, "documents "), oneLine(names, 120)] : null];
}

function faxThumbnails(trial, event) {
  const { fax } = event;
  if (!fax || !fax.total) return null;
  const views = fax.pages.map((page, place) => ({
    hash: page.hash,
    title: `${faxTitle(fax)}, page ${place + 1} of ${fax.total}`,
    detail: page.document ? `${page.document}, its page ${page.number}` : "",
    text: pageText(trial, page.hash),
  }));
  const present = views.filter((view) => source(view.hash));
  const small = views.map((view, place) => (source(view.hash) ? thumbnail(view, place + 1, present) : null));
  const left = fax.total - present.length;
  return el("div", { class: "thumbnails", role: "group", "aria-label": `Pages of the ${faxTitle(fax).toLowerCase()}` }, small,
    left ? absentPage(plural(left, present.length ? "more page" : "page")) : null);
}

function thumbnail(view, number, views) {
  return el("button", { type: "button", class: "thumbnail", title: "Open the page", click: () => openPage(views, views.indexOf(view)) },
    sheet(view, view.title), el("span", { class: "page-number", "aria-hidden": "true" }, number));
}

// The words that were drawn on a page, if the log says them: what a reader without the picture needs.
function pageText(trial, hash) {
  const stored = trial.log.find((event) => event.kind === PAGE_STORED && event.payload.hash === hash);
  return stored && typeof stored.payload.true_text === "string" ? stored.payload.true_text : "";
}

// The pages a criterion read: the picture with marks, and a list of what was looked for, each with a close-up.
function citedPages(criterion, trial) {
  if (!criterion.pages) return null;
  const views = criterion.pages.map((page) => ({ ...page, title: page.caption || "Page of a fax", detail: criterion.label, text: pageText(trial, page.hash) }));
  const present = views.filter((view) => source(view.hash));
  return el("div", { class: "cited-pages" },
    views.map((view) => citedPage(view, present)),
    criterion.pages_left_out ? absentPage(plural(criterion.pages_left_out, "more page")) : null);
}

function citedPage(view, views) {
  const list = markList(view);
  if (!source(view.hash)) return el("div", { class: "cited-page" }, el("div", { class: "beside" }, el("h4", {}, view.title), absentPage("The page"), list));
  const open = el("button", { type: "button", class: "thumbnail large", title: "Open the page", click: () => openPage(views, views.indexOf(view)) }, sheet(view, describePage(view)));
  const figure = el("figure", { class: "cited-page" }, open, el("figcaption", { class: "beside" }, el("h4", {}, view.title), list));
  pointAtMarks(figure);
  return figure;
}

function describePage(view) {
  const told = Object.keys(MARK_WORDS).map((sort) => [MARK_WORDS[sort].toLowerCase(), view.marks.filter((mark) => mark.sort === sort).map((mark) => mark.text)]);
  return [view.title, ...told.filter(([, texts]) => texts.length).map(([word, texts]) => `${word}: ${texts.join(", ")}`)].join(". ");
}

function markList(view) {
  const order = ["forbidden", "missing", "found"];
  const marks = view.marks.map((mark, place) => ({ mark, place })).sort((a, b) => order.indexOf(a.mark.sort) - order.indexOf(b.mark.sort));
  const rows = marks.map(({ mark, place }, row) => el("li", { class: `is-${MARK_OUTCOMES[mark.sort]}`, "data-mark": place },
    icon(MARK_OUTCOMES[mark.sort]),
    el("span", {}, el("b", {}, MARK_WORDS[mark.sort]), " ", el("q", {}, mark.text)),
    row < MOST_CLOSE_UPS && mark.boxes.length && source(view.hash) ? closeUp(view, mark, place) : null));
  return [
    rows.length ? el("ul", { class: "mark-list" }, rows) : el("p", { class: "muted" }, "No value was looked for on this page."),
    view.marks_left_out ? el("p", { class: "muted" }, `${plural(view.marks_left_out, "more value")} not shown.`) : null,
  ];
}

// A strip of the page around the first place of a value, at a size that people can read.
function closeUp(view, mark, place) {
  const { width, height } = DATA.pictures[view.hash];
  const [left, top, wide, high] = mark.boxes[0];
  const strip = { wide: Math.min(Math.max(620, wide + 160), width), high: Math.max(high + 56, 90) };
  const x = Math.min(Math.max(left + wide / 2 - strip.wide / 2, 0), width - strip.wide);
  const y = Math.min(Math.max(top + high / 2 - strip.high / 2, 0), Math.max(height - strip.high, 0));
  return svg("svg", { class: "close-up", viewBox: `${x} ${y} ${strip.wide} ${strip.high}`, "aria-hidden": "true" },
    svg("image", { href: source(view.hash), width, height, preserveAspectRatio: "none" }),
    mark.boxes.map(([...box]) => markBox(mark, place, ...box)));
}

// A value in the list lights up its boxes on the page.
function pointAtMarks(figure) {
  const light = (place) => {
    for (const box of figure.querySelectorAll(".mark-box")) box.classList.toggle("pointed", box.dataset.mark === place);
  };
  for (const row of figure.querySelectorAll(".mark-list li")) {
    row.addEventListener("pointerenter", () => light(row.dataset.mark));
    row.addEventListener("pointerleave", () => light(null));
  }
}

// One dialog for all pages: Escape closes it, arrows turn pages, and the focus goes back to what opened it.
function openPage(views, place) {
  let at = place;
  const body = el("div", { class: "viewer-page", tabindex: "0", role: "group" });
  const title = el("h3", { id: "viewer-title", "aria-live": "polite" });
  const detail = el("p", { class: "muted" });
  const turn = (by, word, arrow) => el("button", { type: "button", class: "step", "aria-label": `${word} page`, click: () => show(at + by) }, arrow);
  const [back, on] = [turn(-1, "Previous", "←"), turn(1, "Next", "→")];
  const zoom = el("button", { type: "button", class: "quiet", "aria-pressed": "false", click: () => enlarge() }, "Actual size");
  const text = el("details", { class: "viewer-text" }, el("summary", {}, "Text that was drawn on the page"), el("pre", { tabindex: "0" }));
  const viewer = el("dialog", { class: "viewer", "aria-labelledby": "viewer-title" },
    el("div", { class: "viewer-head" }, el("div", {}, title, detail),
      el("span", { class: "steps" }, zoom, back, on, el("button", { type: "button", class: "step", "aria-label": "Close", click: () => viewer.close() }, "✕"))),
    body, text,
    el("p", { class: "keys" }, views.length > 1 ? [el("kbd", {}, "←"), " ", el("kbd", {}, "→"), " turn pages  "] : null, el("kbd", {}, "z"), " actual size  ", el("kbd", {}, "Esc"), " close"));
  function show(next) {
    if (!views[next]) return;
    at = next;
    const view = views[at];
    title.textContent = view.title;
    detail.replaceChildren(...coded([view.detail, views.length > 1 ? `${at + 1} of ${views.length} shown` : ""].filter(Boolean).join(" · ")));
    body.replaceChildren(sheet(view, view.marks ? describePage(view) : view.title));
    body.scrollTo(0, 0);
    text.hidden = !view.text;
    text.lastElementChild.textContent = view.text;
    back.disabled = at === 0;
    on.disabled = at === views.length - 1;
  }
  function enlarge() {
    const large = zoom.getAttribute("aria-pressed") === "false";
    zoom.setAttribute("aria-pressed", String(large));
    body.classList.toggle("actual", large);
  }
  viewer.addEventListener("keydown", (event) => turnByKey(event, (by) => show(at + by), enlarge));
  viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
  viewer.addEventListener("close", () => viewer.remove());
  show(at);
  document.body.append(viewer);
  viewer.showModal();
  body.focus();
}

function turnByKey(event, turn, enlarge) {
  event.stopPropagation();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
  if (by) turn(by);
  if (event.key === "z") enlarge();
  if (by || event.key === "z") event.preventDefault();
}

// What the report says once about pages that it does not show.
function pictureNote() {
  const { pictures_problem: problem, pictures_left_out: left, pictures_redacted: redacted } = DATA;
  const notes = [];
  if (problem) notes.push(problem);
  if (redacted) notes.push(`${plural(redacted, "page")} of faxes not shown: the tasks use variables whose values are redacted, and the words on ${redacted === 1 ? "this page" : "these pages"} are not known.`);
  if (left && !problem) notes.push(`${plural(left, "page")} of faxes not shown as ${left === 1 ? "a picture" : "pictures"}, to keep this report small. Pages that failed criteria read come first.`);
  return notes.length ? el("p", { class: "left-out picture-note" }, notes.join(" ")) : null;
}
