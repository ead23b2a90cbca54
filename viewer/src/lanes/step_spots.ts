// Places of the steps of a sequence over the lanes.
import { plainText } from "../parts/Coded";
import { timeOf } from "../trial";
import type { LogEvent } from "../data";
import type { Lane } from "./lanes";
import { LANE, LEFT_EDGE, STEP_ROOM } from "./measures";
import type { LaneScale } from "./scale";
import type { Sequence, Step } from "./sequences";

export interface Spot {
  step: Step;
  x: number;
  y: number;
  row: number;
  /** Where the event of the step is. */
  event: { x: number; y: number } | null;
  /** What is missing, beside the badge; empty for other steps. */
  words: string;
}

/** Each step is above its event; a missing one is behind the step before it, with its words. Then all are moved left until they fit. */
export function placeSteps(sequence: Sequence, lanes: Lane[], scale: LaneScale, width: number): Spot[] {
  const rowOf = (event: LogEvent) => lanes.findIndex(({ name }) => name === event.source);
  const spots: Spot[] = [];
  for (const step of sequence.steps) {
    const before = spots.at(-1) ?? { x: LEFT_EDGE - STEP_ROOM, row: 0 };
    const event = step.event && { x: scale.place(timeOf(step.event)), y: rowOf(step.event) * LANE.height + LANE.marks };
    const row = step.found && step.event ? rowOf(step.event) : laneOfStep(lanes, step, before.row);
    const words = !step.found && step.isReached ? `missing: ${plainText(step.text)}` : "";
    const covered = spots.find((spot) => spot.words && spot.row === row && !isLate(spot, width));
    const free = covered ? covered.x + Math.min(covered.words.length * 6, width / 2) : 0;
    spots.push({ step, row, event, words, x: Math.max(before.x + STEP_ROOM, step.found && event ? event.x : 0, free), y: row * LANE.height + LANE.steps });
  }
  let limit = width - LANE.steps;
  for (const spot of spots.toReversed()) {
    spot.x = Math.min(spot.x, limit);
    limit = spot.x - STEP_ROOM;
  }
  return spots;
}

/** The lane of a missing step: that of the sandbox it names, or of its kind of events; else that of the step before. */
function laneOfStep(lanes: Lane[], { text }: Step, before: number): number {
  const [, family = "", name = ""] = /^`([a-z0-9]+)\.[^`]*`(?: on (\S+))?/.exec(text) ?? [];
  if (!family) return before;
  const ways: ((lane: Lane) => boolean)[] = [
    (lane) => lane.name === name,
    (lane) => lane.kind === family,
    (lane) => lane.name === family,
    (lane) => lane.events.some(({ kind }) => kind.startsWith(`${family}.`)),
  ];
  const match = ways.find((way) => lanes.some(way));
  return match ? lanes.findIndex(match) : before;
}

/** Whether a missing step has more space for its words before it. */
export function isLate({ x }: { x: number }, width: number): boolean {
  return x > width * 0.6;
}
