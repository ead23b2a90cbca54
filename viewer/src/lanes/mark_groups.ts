// Events whose marks would cover each other share one, up to a width.
import type { EventMark, LogEvent } from "../data";
import { plainText } from "../parts/Coded";
import { groupBy } from "../parts/group_by";
import { clock, moment } from "../parts/times";
import { plural } from "../parts/words";
import { timeOf, type OpenTrial } from "../trial";
import { gistText } from "../trial/Gist";
import { marksByEvent } from "../trial/CitedBy";
import { troubleOf, type Trouble } from "../trial/trouble";
import type { Lane } from "./lanes";
import { MARK_ROOM } from "./measures";
import type { LaneScale } from "./scale";

const WIDEST_MARK = 44;
const MOST_KINDS = 4;

export interface MarkGroup {
  x: number;
  end: number;
  events: LogEvent[];
}

/** What a mark says of its events. */
export interface MarkSummary {
  trouble: Trouble | null;
  byAgent: "all" | "some" | "none";
  hasPages: boolean;
  isCited: boolean;
  lines: string[];
}

export function groupMarks(lane: Lane, scale: LaneScale): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const event of lane.events) {
    const x = scale.place(timeOf(event));
    const last = groups.at(-1);
    if (last && x - last.end < MARK_ROOM - 1 && x - last.x < WIDEST_MARK) {
      last.end = x;
      last.events.push(event);
    } else groups.push({ x, end: x, events: [event] });
  }
  groups.forEach((group, place) => {
    const next = groups[place + 1];
    group.end = Math.max(Math.min(group.end, next ? next.x - MARK_ROOM - 3 : Infinity), group.x);
  });
  return groups;
}

const known = new WeakMap<MarkGroup, MarkSummary>();

/** Told once for each group, because a group may have many events. */
export function summarizeMark(trial: OpenTrial, lane: Lane, group: MarkGroup): MarkSummary {
  let summary = known.get(group);
  if (!summary) {
    summary = tell(trial, lane, group.events);
    known.set(group, summary);
  }
  return summary;
}

function tell(trial: OpenTrial, lane: Lane, events: LogEvent[]): MarkSummary {
  const byAgent = events.filter((event) => event.by_agent).length;
  const marks = events.flatMap(({ seq }) => marksByEvent(trial).get(seq) ?? []).filter(({ passed }) => !passed);
  return {
    trouble: events.map(troubleOf).find(Boolean) ?? null,
    byAgent: byAgent === events.length ? "all" : byAgent ? "some" : "none",
    hasPages: events.every(hasPages),
    isCited: marks.length > 0,
    lines: [...(events.length > 1 ? groupLines(trial, lane, events) : eventLines(trial, events[0]!)), ...citedLines(marks)],
  };
}

function citedLines(marks: EventMark[]): string[] {
  return [...new Set(marks.map(({ text }) => `✗ ${plainText(text)}`))];
}

export function hasPages(event: LogEvent): boolean {
  return Boolean(event.page || event.fax?.total);
}

function eventLines({ body }: OpenTrial, event: LogEvent): string[] {
  const trouble = troubleOf(event);
  return [`${moment(body.zone, event.at)} · ${event.source} · #${event.seq}`, trouble ? `${trouble.word}: ${event.kind}` : event.kind, gistText(event)].filter(Boolean);
}

function groupLines({ body }: OpenTrial, lane: Lane, events: LogEvent[]): string[] {
  const kinds = [...groupBy(events, ({ kind }) => kind)].sort(([, a], [, b]) => b.length - a.length);
  const rest = kinds.length - MOST_KINDS;
  const troubles = new Set(kinds.flatMap(([kind]) => troubleOf({ kind })?.word ?? []));
  return [
    `${clock(body.zone, events[0]!.at)} to ${clock(body.zone, events.at(-1)!.at)} · ${lane.name} · ${plural(events.length, "event")}`,
    ...kinds.slice(0, MOST_KINDS).map(([kind, own]) => (own.length > 1 ? `${own.length.toLocaleString("en")} × ${kind}` : kind)),
    ...(rest > 0 ? [`and ${plural(rest, "more kind")}`] : []),
    ...[...troubles].map((word) => `with events: ${word}`),
  ];
}
