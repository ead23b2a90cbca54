// Pages of websites as they were sent, in frames without scripts.

// The page with its style sheets in it, because a frame of this file can load nothing.
function sitePageSource(digest) {
  const html = (DATA.site_pages || {})[digest];
  if (!html) return null;
  return html.replace(/<link rel="stylesheet" href="\/static\/([a-z_]+\/[a-z_]+\.css)">/g,
    (whole, name) => `<style>${(DATA.site_styles || {})[name] || ""}</style>`);
}

// A button that shows the page of an event; null for an event without one.
function sitePage(event) {
  const source = event.page && sitePageSource(event.page);
  if (!source) return null;
  const holder = el("div", { class: "site-page", hidden: true });
  const toggle = el("button", { type: "button", class: "show-page", "aria-expanded": "false" }, "Show the page");
  toggle.addEventListener("click", () => {
    if (!holder.firstChild) {
      const frame = el("iframe", { sandbox: "", title: `Page: ${event.payload.title || event.payload.page || ""}` });
      frame.setAttribute("srcdoc", source);
      holder.append(frame);
    }
    holder.hidden = !holder.hidden;
    toggle.setAttribute("aria-expanded", String(!holder.hidden));
    toggle.textContent = holder.hidden ? "Show the page" : "Hide the page";
  });
  return el("div", {}, toggle, holder);
}
