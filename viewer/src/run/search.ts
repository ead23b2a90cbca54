// Full-text search over names, conversations, evidence and events of the trials that are here.
import { plainText } from "../parts/Coded";
import type { Trial } from "../trial";
import { fold, listPassages, type Passage } from "./passages";

export interface Search {
  terms: string[];
  /** The numbers of the trials that have all words; null while nothing is searched. */
  found: ReadonlySet<number> | null;
  /** Where the words stand in trials that are not here. */
  hits?: ReadonlyMap<number, Hit[]>;
}

export const NO_SEARCH: Search = { terms: [], found: null };

export interface Hit extends Passage {
  place: number;
}

const known = new WeakMap<Trial, { terms: string[]; log: object; hits: Hit[] }>();

/** The passages with the most of the words, the name last: it stands in the list anyway. */
export function findHits(trial: Trial, { terms, hits: given }: Search): Hit[] {
  if (!trial.body && given) return given.get(trial.number) ?? [];
  const before = known.get(trial);
  if (before && before.terms === terms && before.log === trial.log) return before.hits;
  const hits = listPassages(trial)
    .map((passage, place) => {
      const content = fold(passage.text);
      return { ...passage, place, count: terms.filter((term) => content.includes(term)).length };
    })
    .filter((hit) => hit.count);
  hits.sort((a, b) => b.count - a.count || Number(a.place === 0) - Number(b.place === 0) || a.place - b.place);
  known.set(trial, { terms, log: trial.log, hits });
  return hits;
}

/** A part of a text around the first word. */
export function snippetOf(text: string, { terms }: Search, width: number): { before: string; cut: string; after: string } {
  const line = plainText(text.replace(/\s+/g, " "));
  const lower = line.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, line.length) - Math.round(width / 3));
  return { before: start > 0 ? "…" : "", cut: line.slice(start, start + width), after: start + width < line.length ? "…" : "" };
}

/** Where the words stand in a text, in order and without overlaps. */
export function termRanges(text: string, { terms }: Search): [number, number][] {
  const content = text.toLowerCase();
  const ranges: [number, number][] = [];
  for (const term of terms) {
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
