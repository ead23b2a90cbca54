"""What does not fit on a page in Chromium: text that is clipped or spills, controls that wrap or overlap."""

from playwright.sync_api import Page

_SCRIPT = r"""() => {
  const found = [];
  const CONTROLS = "button, a[href], input:not([type=hidden]), select, textarea";
  const say = (element) => {
    const words = (element.innerText || element.name || "").trim().replace(/\s+/g, " ").slice(0, 60);
    return `<${element.tagName.toLowerCase()} class="${element.className}"> ${words}`;
  };
  const isShown = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && element.clientWidth + element.offsetWidth > 4 &&
    !element.closest(".visually-hidden, .skip, svg") && getComputedStyle(element).clipPath !== "inset(50%)";
  const extra = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (extra > 0) found.push(`the page is ${extra} px too wide`);
  for (const element of document.body.querySelectorAll(":not(input, textarea, select, option, svg *)")) {
    const { display, overflowX } = getComputedStyle(element);
    const wide = element.scrollWidth - element.clientWidth;
    if (wide < 2 || display === "inline" || !isShown(element)) continue;
    const right = element.getBoundingClientRect().right + 1;
    const isVisible = overflowX === "visible";
    // Lines between steps, and padding of borderless buttons, may stand out; what is cut off on purpose ends in dots.
    const spilled = [...element.querySelectorAll("*")].some((each) => each.getBoundingClientRect().right > right + 8);
    if (isVisible && !spilled) continue;
    if (getComputedStyle(element).textOverflow === "ellipsis") continue;
    found.push(`${isVisible ? "spills" : "scrolls or is clipped by"} ${wide} px: ${say(element)}`);
  }
  const boxes = [...document.querySelectorAll(CONTROLS)].filter(isShown)
    .map((element) => [element, element.getBoundingClientRect()]);
  for (const [element, box] of boxes) {
    const style = getComputedStyle(element);
    const inside = box.height - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    if (element.matches("button, .button") && element.innerText && !element.matches(".tile") &&
        inside > 1.9 * parseFloat(style.lineHeight) && style.minHeight !== "auto" &&
        inside > parseFloat(style.minHeight)) found.push(`wraps: ${say(element)}`);
  }
  // What is in a control may stand out of it, as a name does that is too long.
  const outlines = boxes.map(([element, box]) => {
    const inner = [...element.querySelectorAll("*")].map((each) => each.getBoundingClientRect());
    const all = [box, ...inner.filter((each) => each.width > 1)];
    const [left, top] = ["left", "top"].map((side) => Math.min(...all.map((each) => each[side])));
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...all.map((each) => each[side])));
    return [element, { left, top, right, bottom }];
  });
  for (const [index, [first, a]] of outlines.entries()) {
    for (const [second, b] of outlines.slice(index + 1)) {
      if (first.contains(second) || second.contains(first)) continue;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 1 && height > 4) found.push(`overlap: ${say(first)} and ${say(second)}`);
    }
  }
  return found;
}"""


def find_misfits(page: Page) -> list[str]:
    """Return what does not fit on the page that is open."""
    return [str(each) for each in page.evaluate(_SCRIPT)]
