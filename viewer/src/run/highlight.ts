// Marks the words of a search in the trial itself, in browsers that can do so without a change to the page.
import { termRanges, type Search } from "./search";

const MOST_HIGHLIGHTS = 2000;

export function highlight(root: Element, search: Search): void {
  if (!("Highlight" in window) || !CSS.highlights) return;
  if (!search.terms.length) {
    CSS.highlights.delete("found");
    return;
  }
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_HIGHLIGHTS; node = walker.nextNode()) {
    for (const [from, to] of termRanges((node as Text).data, search)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, to);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
