// Which trials the list shows. The filters stand in the query of the address, so that a filtered list is a link.
import { FACETS, type Facet } from "../data";
import type { Trial } from "../trial";
import { SECTIONS, type SectionBy } from "./groups";

/** A row of the overview that is chosen. */
export interface ChosenRow {
  number: number;
  text: string;
  /** What names it in an address: its words, with a number if an earlier row has the same. */
  name: string;
}

export interface Filter {
  outcome: string;
  template: string;
  isFlaky: boolean;
  rows: Map<Facet, ChosenRow>;
  /** By what the tasks are grouped; it leaves none out. */
  groupBy: SectionBy | "";
}

export function noFilter(): Filter {
  return { outcome: "", template: "", isFlaky: false, rows: new Map(), groupBy: "" };
}

export function isFiltered({ outcome, template, isFlaky, rows }: Filter): boolean {
  return Boolean(outcome || template || isFlaky || rows.size);
}

export function passes({ row }: Trial, filter: Filter): boolean {
  if (filter.outcome && row.outcome !== filter.outcome) return false;
  if (filter.template && row.template !== filter.template) return false;
  if (filter.isFlaky && row.flaky === undefined) return false;
  for (const [by, { number }] of filter.rows) {
    if (!row[by]?.includes(number)) return false;
  }
  return true;
}

/** The address with these filters and words of a search; what else is in its query stays. */
export function addressWith(filter: Filter, words: string): string {
  const query = new URLSearchParams(location.search);
  const values: Record<string, string> = {
    outcome: filter.outcome,
    template: filter.template,
    repeated: filter.isFlaky ? "flaky" : "",
    q: words,
    group: filter.groupBy,
    ...Object.fromEntries(FACETS.map((by) => [by, filter.rows.get(by)?.name ?? ""])),
  };
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return `${location.pathname}${text ? `?${text}` : ""}${location.hash}`;
}

export type FindRow = (by: Facet, name: string) => ChosenRow | null;

/** The filters in the address. A row of the overview that is not in this run is left out. */
export function filterInAddress(findRow: FindRow): Filter {
  const query = new URLSearchParams(location.search);
  const filter = { ...noFilter(), outcome: query.get("outcome") ?? "", template: query.get("template") ?? "", isFlaky: query.get("repeated") === "flaky", groupBy: sectionIn(query.get("group")) };
  for (const by of FACETS) {
    const name = query.get(by);
    const row = name ? findRow(by, name) : null;
    if (row) filter.rows.set(by, row);
  }
  return filter;
}

function sectionIn(name: string | null): SectionBy | "" {
  return name !== null && name in SECTIONS ? (name as SectionBy) : "";
}

export function wordsInAddress(): string {
  return new URLSearchParams(location.search).get("q") ?? "";
}
