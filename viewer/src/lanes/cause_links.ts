// Links between marks: from what caused an event, and from what caused that, to the event; and from it to its effects.
import { timeOf, type OpenTrial } from "../trial";
import type { LogEvent } from "../data";
import type { Lane } from "./lanes";
import { LANE } from "./measures";
import type { LaneScale } from "./scale";

const MOST_CAUSES = 50;
const MOST_EFFECTS = 200;

interface Point {
  x: number;
  y: number;
}

export interface CauseLink {
  from: Point;
  to: Point;
  sort: "cause" | "effect";
}

export function linksOf(trial: OpenTrial, lanes: Lane[], scale: LaneScale, seq: number): CauseLink[] {
  const point = (event: LogEvent): Point => ({ x: scale.place(timeOf(event)), y: lanes.findIndex(({ name }) => name === event.source) * LANE.height + LANE.marks });
  const selected = trial.bySeq.get(seq);
  if (!selected) return [];
  const links: CauseLink[] = [];
  let event = selected;
  while (links.length < MOST_CAUSES) {
    const cause = event.cause ? trial.bySeq.get(event.cause) : undefined;
    if (!cause) break;
    links.push({ from: point(cause), to: point(event), sort: "cause" });
    event = cause;
  }
  const effects = trial.effectsOf(seq).slice(0, MOST_EFFECTS);
  return [...links, ...effects.map((effect): CauseLink => ({ from: point(selected), to: point(effect), sort: "effect" }))];
}
