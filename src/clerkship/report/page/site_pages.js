// Pages of websites as they were sent, in frames without scripts.

// As wide as a desktop, so that a page has the layout that it had for the agent; it is shown smaller where there is less room.
const SITE_PAGE_WIDTH = 1280;
const SITE_PAGE_HEIGHT = 860;
// A link in the frame would leave the page.
const NO_LINKS = "<style>a, button { pointer-events: none; }</style>";

// The page with its style sheets in it, because a frame of this file can load nothing.
function sitePageSource(digest) {
  const html = (DATA.site_pages || {})[digest];
  if (!html) return null;
  return html.replace(/<link rel="stylesheet" href="\/static\/([a-z_]+\/[a-z_]+\.css)">/g,
    (whole, name) => `<style>${(DATA.site_styles || {})[name] || ""}</style>${NO_LINKS}`);
}

// A button that shows the page of an event, and the place where it is shown; nothing for an event without one.
function sitePage(event) {
  const source = event.page && sitePageSource(event.page);
  if (!source) return [];
  const title = String(event.payload?.title || event.payload?.page || "");
  const holder = el("div", { class: "site-page", hidden: true });
  const word = el("span", {}, "Show");
  const toggle = el("button", { type: "button", class: "show-page", "aria-expanded": "false" }, word, ` the page${title ? `: ${title}` : ""}`);
  toggle.addEventListener("click", () => {
    if (!holder.firstChild) holder.append(sitePageFrame(source, title));
    holder.hidden = !holder.hidden;
    toggle.setAttribute("aria-expanded", String(!holder.hidden));
    word.textContent = holder.hidden ? "Show" : "Hide";
  });
  return [toggle, holder];
}

function sitePageFrame(source, title) {
  const frame = el("iframe", { sandbox: "", title: `Page: ${title}` });
  frame.setAttribute("srcdoc", source);
  frame.style.width = `${SITE_PAGE_WIDTH}px`;
  frame.style.height = `${SITE_PAGE_HEIGHT}px`;
  const box = el("div", { class: "site-page-box" }, frame);
  new ResizeObserver(() => {
    const scale = Math.min(1, box.clientWidth / SITE_PAGE_WIDTH);
    frame.style.transform = `scale(${scale})`;
    box.style.height = `${SITE_PAGE_HEIGHT * scale}px`;
  }).observe(box);
  return box;
}
