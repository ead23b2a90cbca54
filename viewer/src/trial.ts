// A trial as the page holds it: its row, and its body and log once they are here.
import type { Assets, Body, LogEvent, TrialRow } from "./data";

/** What is loaded when a trial is opened. */
export interface TrialContent {
  body: Body;
  log: LogEvent[];
  assets: Assets;
  /** What of the trial was changed in the store after it was saved. */
  changed?: string;
}

/** Events that did not come with the trial, with their pictures and pages. */
export interface MoreEvents {
  events: LogEvent[];
  assets: Assets;
}

export class Trial {
  content: TrialContent | null = null;
  /** Why the content could not be loaded. */
  problem = "";
  isLoading = false;
  /** The folded text in which a search looks. */
  searchText: string | undefined;
  private index: Map<number, LogEvent> | null = null;
  private effects: Map<number, LogEvent[]> | null = null;

  constructor(
    public row: TrialRow,
    /** The number in addresses, from 1 in the order of the rows. */
    readonly number: number,
  ) {}

  get body(): Body | null {
    return this.content?.body ?? null;
  }

  get log(): LogEvent[] {
    return this.content?.log ?? [];
  }

  /** The events by their numbers, built when they are first needed. */
  get bySeq(): Map<number, LogEvent> {
    this.index ??= new Map(this.log.map((event) => [event.seq, event]));
    return this.index;
  }

  /** The events that an event caused. */
  effectsOf(seq: number): LogEvent[] {
    if (!this.effects) {
      this.effects = new Map();
      for (const event of this.log) {
        if (!event.cause) continue;
        const known = this.effects.get(event.cause);
        if (known) known.push(event);
        else this.effects.set(event.cause, [event]);
      }
    }
    return this.effects.get(seq) ?? [];
  }

  fill(content: TrialContent | null): void {
    this.content = content;
    this.index = this.effects = null;
    this.searchText = undefined;
  }

  /** Adds events that arrived later. They are shown where they happened. */
  addEvents({ events, assets: more }: MoreEvents): void {
    if (!this.content || !events.length) return;
    const { assets } = this.content;
    const log = [...this.content.log, ...events].sort((a, b) => timeOf(a) - timeOf(b) || a.seq - b.seq);
    const pages = { ...assets.site_pages, ...more.site_pages };
    const styles = { ...assets.site_styles, ...more.site_styles };
    this.fill({ ...this.content, log, assets: { ...assets, pictures: { ...assets.pictures, ...more.pictures }, site_pages: pages, site_styles: styles } });
  }
}

/** A trial whose body is here. */
export type OpenTrial = Trial & { readonly body: Body; readonly content: TrialContent };

export function isOpen(trial: Trial): trial is OpenTrial {
  return trial.content !== null;
}

const times = new WeakMap<LogEvent, number>();

/** The time of an event in milliseconds; dates are parsed once. */
export function timeOf(event: LogEvent): number {
  let time = times.get(event);
  if (time === undefined) {
    time = Date.parse(event.at);
    times.set(event, time);
  }
  return time;
}
