// Where trials come from: the data in the file of a report, or the program that serves the viewer.
import type { ReportData, RunData, TrialRow } from "./data";
import type { MoreEvents, Trial, TrialContent } from "./trial";

/** The rows of a run. */
export interface RunRows extends RunData {
  trials: TrialRow[];
  /** Whether trials are still added to the run. */
  is_active?: boolean;
  progress?: { done: number; total: number };
  /** Whether the reader may label. */
  can_change?: boolean;
}

/** The trials that have all words of a search, each with the first places of words. */
export interface SearchReply {
  trials: { task: string; trial: number; hits: { label: string; address: string; snippet: string }[] }[];
  /** Trials that were searched so far; the others are still being read. */
  indexed: number;
  total: number;
  /** Why the rest cannot be searched. */
  problem: string;
}

/** A promise is returned only where something has to be fetched, so that a report is drawn at once. */
export interface Source {
  /** Whether all trials are here from the start, so that what is not here was left out. */
  readonly isEmbedded: boolean;
  rows(): RunRows | Promise<RunRows>;
  /** The body and the log of a trial; null if it was left out. */
  open(trial: Trial): TrialContent | null | Promise<TrialContent>;
  /** Events that did not come with the trial, behind one of them; empty at the end of the log. */
  moreEvents(trial: Trial, after: number): Promise<MoreEvents>;
  /** Searches all trials, those too that are not here. Without it, the page searches what it has. */
  search?(words: string, signal: AbortSignal): Promise<SearchReply>;
}

export class EmbeddedSource implements Source {
  readonly isEmbedded = true;

  constructor(private readonly data: ReportData) {}

  rows(): RunRows {
    return this.data;
  }

  open(trial: Trial): TrialContent | null {
    const { body, log } = trial.row;
    return body ? { body, log: log ?? [], assets: this.data } : null;
  }

  async moreEvents(): Promise<MoreEvents> {
    return { events: [], assets: this.data };
  }
}
