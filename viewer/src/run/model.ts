// The state of a page about a run: its trials, what the list shows, and which trial is selected. It draws nothing.
import type { Facet } from "../data";
import { quoteShell } from "../parts/shell";
import { plural } from "../parts/words";
import type { RunRows, SearchReply, Source } from "../source";
import { Trial, type TrialContent } from "../trial";
import { addressWith, filterInAddress, isFiltered, noFilter, passes, wordsInAddress, type ChosenRow, type Filter, type FindRow } from "./filters";
import { groupTrials, listRows, sortGroups, type Group, type ListRow, type SortBy, type Sorting } from "./groups";
import { parseTerms, searchText } from "./passages";
import { NO_SEARCH, type Hit, type Search } from "./search";
import { stopWork, workThrough } from "./slices";

const TYPING_PAUSE = 150; // milliseconds without another letter before the program is asked
const SEARCH_AGAIN = 400; // milliseconds until it is asked again while it reads trials

/** What of a trial is aimed at: an event, a moment of a call, a call, or a criterion. A new object aims again. */
export interface Aim {
  sort: "e" | "m" | "c" | "k";
  place: number;
}

export class RunModel {
  trials: Trial[] = [];
  groups: Group[] = [];
  filter: Filter = noFilter();
  sorting: Sorting = { by: "result", isReversed: false };
  search: Search = NO_SEARCH;
  words = "";
  canChange = false;
  private searching: AbortController | null = null;
  /** What the status line says while a search works. */
  progress = "";
  selected: Trial | null = null;
  aim: Aim | null = null;
  isActive = false;
  problem = "";
  run = "";
  command = "";
  private storeOption = "";
  outcomes: RunRows["outcomes"] = {};
  private rank = new Map<string, number>();
  private open = new Set<string>();
  private rowsNow: ListRow[] | null = null;

  constructor(
    readonly source: Source,
    /** Draws the page again. */
    private readonly changed: () => void,
    private readonly findRow: FindRow,
  ) {}

  /** Takes the rows as they are now. Trials that are known keep their numbers, so that addresses stay. */
  take(rows: RunRows): void {
    const known = new Map(this.trials.map((trial) => [nameOf(trial.row), trial]));
    this.run = rows.run;
    this.command = rows.command;
    this.storeOption = rows.store_option ?? "";
    this.outcomes = rows.outcomes;
    this.rank = new Map(Object.keys(rows.outcomes).map((outcome, place) => [outcome, place]));
    this.isActive = rows.is_active ?? false;
    this.canChange = rows.can_change ?? false;
    this.problem = "";
    let next = this.trials.length;
    const trials = rows.trials.map((row) => {
      const trial = known.get(nameOf(row));
      if (!trial) return new Trial(row, (next += 1));
      if (trial.row.attempt !== row.attempt) trial.fill(null); // another attempt was made
      trial.row = row;
      return trial;
    });
    this.trials = trials.sort((a, b) => a.number - b.number);
    if (this.source.isEmbedded) for (const trial of trials) trial.fill(this.source.open(trial) as TrialContent | null);
    this.regroup();
  }

  private regroup(): void {
    this.groups = groupTrials(this.trials, this.rankOf, this.open);
    sortGroups(this.groups, this.sorting, this.rankOf);
    this.rowsNow = null;
  }

  /** The line of a command about this run; empty if the reader has no command line. */
  commandLine(command: string, ...words: string[]): string {
    if (!this.command) return "";
    return `${[this.command, command, this.run, ...words.map(quoteShell)].join(" ")}${this.storeOption}`;
  }

  /** The line that shows a trial. */
  showCommand({ row }: Trial, ...options: string[]): string {
    const number = row.trial > 1 || this.trials.some(({ row: other }) => other.task === row.task && other.trial > 1);
    return this.commandLine("show", row.task_name ?? row.task, ...(number ? ["--trial", String(row.trial)] : []), ...options);
  }

  readonly rankOf = (outcome: string): number => this.rank.get(outcome) ?? -1;

  wordOf(outcome: string): string {
    return this.outcomes[outcome]?.[0] ?? outcome;
  }

  trial(number: number): Trial | undefined {
    const trial = this.trials[number - 1];
    return trial?.number === number ? trial : this.trials.find((other) => other.number === number);
  }

  readonly lets = (trial: Trial): boolean => passes(trial, this.filter) && (this.search.found === null || this.search.found.has(trial.number));

  get rows(): ListRow[] {
    this.rowsNow ??= listRows(this.groups, this.lets, this.filter.groupBy);
    return this.rowsNow;
  }

  groupOf(trial: Trial): Group {
    return this.groups.find(({ trials }) => trials.includes(trial))!;
  }

  // Filters

  setFilter(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    this.filtered();
  }

  setRow(by: Facet, row: ChosenRow | null): void {
    const rows = new Map(this.filter.rows);
    if (row) rows.set(by, row);
    else rows.delete(by);
    this.setFilter({ rows });
  }

  clearFilters(): void {
    this.setFilter({ ...noFilter(), groupBy: this.filter.groupBy });
  }

  get isFiltered(): boolean {
    return isFiltered(this.filter);
  }

  private filtered(): void {
    this.rowsNow = null;
    this.writeAddress();
    this.changed();
  }

  private writeAddress(): void {
    history.replaceState(history.state, "", addressWith(this.filter, this.words));
  }

  /** Takes the filters and the words that the address has, unless they are those that hold. */
  readAddress(): void {
    if (addressWith(this.filter, this.words) === `${location.pathname}${location.search}${location.hash}`) return;
    this.filter = filterInAddress(this.findRow);
    this.rowsNow = null;
    const words = wordsInAddress();
    if (words !== this.words) this.startSearch(words);
  }

  // Sorting and opening

  sort(by: SortBy, isLargestFirst: boolean): void {
    this.sorting = { by, isReversed: this.sorting.by === by ? !this.sorting.isReversed : isLargestFirst };
    sortGroups(this.groups, this.sorting, this.rankOf);
    this.rowsNow = null;
    this.changed();
  }

  openGroup(group: Group, isOpen: boolean): void {
    this.setOpen(group, isOpen);
    this.changed();
  }

  private setOpen(group: Group, isOpen: boolean): void {
    group.isOpen = isOpen;
    if (isOpen) this.open.add(group.task);
    else this.open.delete(group.task);
    this.rowsNow = null;
  }

  // Search

  startSearch(words: string): void {
    this.words = words;
    this.writeAddress();
    this.searching?.abort();
    if (this.source.search && parseTerms(words).length) {
      this.searching = new AbortController();
      void this.searchAll(this.source.search.bind(this.source), words, this.searching.signal);
    } else this.searchHere(words);
  }

  /** Asks the program, and again while it still reads trials. */
  private async searchAll(search: NonNullable<Source["search"]>, words: string, signal: AbortSignal): Promise<void> {
    const numbers = new Map(this.trials.map((trial) => [nameOf(trial.row), trial.number]));
    this.progress = "Searching…";
    this.changed();
    await waited(TYPING_PAUSE);
    while (!signal.aborted) {
      let reply: SearchReply;
      try {
        reply = await search(words, signal);
      } catch (error) {
        if (!signal.aborted) this.report(error instanceof Error ? error.message : String(error));
        return;
      }
      if (signal.aborted) return;
      const hits = new Map(reply.trials.flatMap(({ task, trial, hits: each }) => toHits(numbers.get(`${trial} ${task}`), each)));
      this.search = { terms: parseTerms(words), found: new Set(hits.keys()), hits };
      const isDone = reply.indexed >= reply.total || reply.problem !== "";
      this.report(isDone ? reply.problem : `Searching: ${reply.indexed.toLocaleString("en")} of ${plural(reply.total, "trial")}`);
      if (isDone) return;
      await waited(SEARCH_AGAIN);
    }
  }

  private report(progress: string): void {
    this.progress = progress;
    this.rowsNow = null;
    this.changed();
  }

  private searchHere(words: string): void {
    const terms = parseTerms(words);
    const found = new Set<number>();
    stopWork("index");
    workThrough("search", {
      items: terms.length ? this.trials : [],
      each: (trial) => {
        const content = searchText(trial);
        if (terms.every((term) => content.includes(term))) found.add(trial.number);
      },
      done: () => {
        this.progress = "";
        this.search = terms.length ? { terms, found } : NO_SEARCH;
        this.rowsNow = null;
        this.changed();
      },
      report: (place) => {
        this.progress = `Searching: ${place.toLocaleString("en")} of ${plural(this.trials.length, "trial")}`;
        this.changed();
      },
    });
  }

  /** Prepares the texts while the first words are typed. */
  prepareSearch(): void {
    if (this.source.search) return;
    workThrough("index", { items: this.trials, each: searchText, done: () => {} });
  }

  // Selection

  select(trial: Trial, aim: Aim | null): void {
    this.selected = trial;
    this.aim = aim;
    const group = this.groupOf(trial);
    if (group.trials.length > 1 && !group.isOpen) this.setOpen(group, true);
    this.load(trial);
    this.changed();
  }

  private load(trial: Trial): void {
    if (trial.content || trial.isLoading || this.source.isEmbedded) return;
    trial.isLoading = true;
    trial.problem = "";
    void this.fetchTrial(trial).finally(() => {
      trial.isLoading = false;
      this.changed();
    });
  }

  private async fetchTrial(trial: Trial): Promise<void> {
    try {
      const content = await this.source.open(trial);
      trial.fill(content);
      if (content?.changed) trial.row = { ...trial.row, changed: content.changed, outcome: "changed", score: null };
      this.changed();
      // A long log comes in parts. Those that are not asked for any more are not fetched.
      while (content && trial === this.selected && trial.log.length < content.body.events) {
        const last = trial.log.reduce((most, { seq }) => Math.max(most, seq), 0);
        const more = await this.source.moreEvents(trial, last);
        if (!more.events.length) break;
        trial.addEvents(more);
        this.changed();
      }
    } catch (error) {
      trial.problem = error instanceof Error ? error.message : String(error);
    }
  }

  /** The trials in the order of the list. */
  listed(): Trial[] {
    return this.groups.flatMap((group) => group.trials);
  }

  /** The next trial that the filters let through. */
  neighbour(from: Trial, step: number): Trial | null {
    const listed = this.listed();
    const place = listed.indexOf(from);
    const before = listed.slice(0, place).filter(this.lets);
    const after = listed.slice(place + 1).filter(this.lets);
    const next = step > 0 ? after[0] : before.at(-1);
    if (next) return next;
    return (this.lets(from) ? null : step > 0 ? before[0] : after.at(-1)) ?? null;
  }

  /** What the status line says. */
  status(): string {
    if (this.problem) return this.problem;
    if (this.progress) return this.progress;
    const all = this.trials.length;
    const shown = this.trials.filter(this.lets);
    const tasks = new Set(shown.map(({ row }) => row.task)).size;
    const number = shown.length === all ? plural(all, "trial") : `${shown.length.toLocaleString("en")} of ${plural(all, "trial")}`;
    const sentence = this.groups.length < all ? `${number} of ${plural(tasks, "task")}.` : `${number}.`;
    return [sentence, this.search.found === null ? "" : this.notSearched()].filter(Boolean).join(" ");
  }

  /** What a search cannot find, because it is not in this page. */
  private notSearched(): string {
    if (this.source.search) return "";
    const cut = this.trials.filter((trial) => !trial.body || trial.log.length < trial.body.events).length;
    if (!cut) return "";
    return `Not searched: events of ${plural(cut, "trial")}, left out to keep the page small.`;
  }
}

function nameOf(row: { task: string; task_name?: string; trial: number }): string {
  return `${row.trial} ${row.task_name ?? row.task}`;
}

function waited(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** The hits of a trial by its number; nothing for one that the list does not have yet. */
function toHits(number: number | undefined, hits: SearchReply["trials"][number]["hits"]): [number, Hit[]][] {
  if (number === undefined) return [];
  const places = hits.map(({ label, address, snippet }, place) => ({ where: label, href: `#t${number}${address}`, text: plainSnippet(snippet), place: place + 1 }));
  return [[number, places]];
}

/** A snippet without the marks around its words: the page marks them itself. */
function plainSnippet(snippet: string): string {
  return snippet.replace(/[\x02\x03]/g, "");
}
