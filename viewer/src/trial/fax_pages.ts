// What is known of a page of a fax: its picture, its marks and its words.
import type { Assets, MarkSort, PageMark } from "../data";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { PAGE_STORED } from "./Gist";

export const MARK_WORDS: Record<MarkSort, string> = { found: "Found", forbidden: "Must not be there", missing: "Missing" };
export const MARK_OUTCOMES: Record<MarkSort, "pass" | "fail"> = { found: "pass", forbidden: "fail", missing: "fail" };

/** A page as it is shown. */
export interface PageView {
  hash: string;
  title: string;
  detail: string;
  text: string;
  marks?: PageMark[];
  marks_left_out?: number;
}

export function pictureSource(assets: Assets, hash: string): string | null {
  const page = assets.pictures[hash];
  return page ? `data:image/png;base64,${page.png}` : null;
}

/** The words that were drawn on a page, if the log says them: what a reader without the picture needs. */
export function pageText(trial: OpenTrial, hash: string): string {
  const stored = trial.log.find((event) => event.kind === PAGE_STORED && event.payload.hash === hash);
  return typeof stored?.payload.true_text === "string" ? stored.payload.true_text : "";
}

/** The title of a page with its marks, in words. */
export function describePage({ title, marks = [] }: PageView): string {
  const told = (Object.keys(MARK_WORDS) as MarkSort[]).map((sort) => ({ word: MARK_WORDS[sort].toLowerCase(), texts: marks.filter((mark) => mark.sort === sort).map(({ text }) => text) }));
  return [title, ...told.filter(({ texts }) => texts.length).map(({ word, texts }) => `${word}: ${texts.join(", ")}`)].join(". ");
}

/** What the page says once about pages of faxes that it does not show. */
export function pictureNote({ pictures_problem: problem, pictures_left_out: left, pictures_redacted: redacted }: Assets): string {
  const notes: string[] = [];
  if (problem) notes.push(problem);
  if (redacted) notes.push(`${plural(redacted, "page")} of faxes not shown: the tasks use variables whose values are redacted, and the words on ${redacted === 1 ? "this page" : "these pages"} are not known.`);
  if (left && !problem) notes.push(`${plural(left, "page")} of faxes not shown as ${left === 1 ? "a picture" : "pictures"}, to keep this report small. Pages that failed criteria read come first.`);
  return notes.join(" ");
}
