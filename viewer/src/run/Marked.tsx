// A part of a text around the first word of a search; the words are marked.
import type { ComponentChildren } from "preact";
import { snippetOf, termRanges, type Search } from "./search";

export function Marked({ text, search, width }: { text: string; search: Search; width: number }) {
  const { before, cut, after } = snippetOf(text, search, width);
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const [from, to] of termRanges(cut, search)) {
    parts.push(cut.slice(end, from), <mark>{cut.slice(from, to)}</mark>);
    end = to;
  }
  return (
    <>
      {before}
      {parts}
      {cut.slice(end)}
      {after}
    </>
  );
}
