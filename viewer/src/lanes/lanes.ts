// The lanes of a trial: each sandbox with its events, and what lasts in it.
import type { JsonMap, LogEvent } from "../data";
import { groupBy } from "../parts/group_by";
import { callTitle } from "../trial/CallsSection";
import { timeOf, type OpenTrial } from "../trial";

export interface Lane {
  name: string;
  kind: string;
  events: LogEvent[];
}

/** What lasts: calls with their holds, conversations, sessions of a website, and waits of the agent. */
export interface Span {
  sort: "call" | "hold" | "session" | "wait";
  lane: string;
  href: string;
  text: string;
  start: number;
  end: number;
}

/** A lane for each sandbox in the order of the environment, then what else has events. */
export function listLanes(trial: OpenTrial): Lane[] {
  const kinds = trial.body.brief?.sandboxes ?? {};
  const events = new Map<string, LogEvent[]>([...Object.keys(kinds).map((name): [string, LogEvent[]] => [name, []]), ...groupBy(trial.log, ({ source }) => source)]);
  const rank = (name: string) => (Object.hasOwn(kinds, name) ? -2 : ["scenario", "run"].indexOf(name));
  return [...events].sort(([a], [b]) => rank(a) - rank(b)).map(([name, own]) => ({ name, kind: kinds[name] ?? "", events: own }));
}

export function listSpans(trial: OpenTrial, lanes: Lane[]): Span[] {
  const last = trial.log.at(-1);
  const end = last ? timeOf(last) : 0;
  const calls = (trial.body.calls ?? []).flatMap((call): Span[] => {
    const start = Date.parse(call.at);
    const shared = { lane: call.source, href: `#t${trial.number}c${call.seq}` };
    const holds = call.holds.map(([from, to]): Span => ({ ...shared, sort: "hold", start: start + from * 1000, end: start + to * 1000, text: "on hold" }));
    return [{ ...shared, sort: "call", start, end: start + call.length * 1000, text: callTitle(call) }, ...holds];
  });
  const others = lanes.flatMap((lane) => lane.events.flatMap((event) => spanOf(trial, lane, event, end)));
  return [...calls, ...others].map((span) => ({ ...span, end: Math.min(span.end, end) }));
}

/** A conversation or session lasts until the event that ends it, a wait for its duration or until the next event. */
function spanOf(trial: OpenTrial, lane: Lane, event: LogEvent, end: number): Span[] {
  const start = timeOf(event);
  const shared = { lane: lane.name, href: `#t${trial.number}e${event.seq}`, start };
  const { session, person, user, seconds } = event.payload as JsonMap;
  if (event.kind === "clock.advanced") {
    if (typeof seconds === "number") return [{ ...shared, sort: "wait", text: "waits", end: start + seconds * 1000 }];
    const next = trial.log.find((other) => other.seq > event.seq && timeOf(other) >= start);
    return [{ ...shared, sort: "wait", text: "waits", end: next ? timeOf(next) : start }];
  }
  if (!/(\.session\.started|^portal\.signed_in)$/.test(event.kind)) return [];
  const last = lane.events.find((other) => other.seq > event.seq && other.kind.endsWith(".session.ended") && other.payload.session === session);
  const text = person ? `conversation with ${String(person)}` : `signed in as ${String(user)}`;
  return [{ ...shared, sort: "session", text, end: last ? timeOf(last) : end }];
}
