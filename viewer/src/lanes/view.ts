// The part of the drawing that is in sight: the whole run, or some of it after zooming.
import type { LaneScale } from "./scale";

export interface LaneView {
  scale: LaneScale;
  /** Pixels of the drawing without zooming, which are also those in sight. */
  width: number;
  /** Pixels of the whole drawing. */
  total: number;
  /** Pixels of the drawing left of what is in sight. */
  offset: number;
}

/** Pixels beside what is in sight in which marks are drawn too. */
const MARGIN = 60;

export function isInSight({ offset, width }: LaneView, from: number, to = from): boolean {
  return to >= offset - MARGIN && from <= offset + width + MARGIN;
}

/** The place of an element in percent of the width, so that print can be narrower. */
export function inChart({ width, offset }: LaneView, x: number, wide?: number): Record<string, string> {
  const place: Record<string, string> = { "--x": `${((x - offset) / width) * 100}%` };
  if (wide !== undefined) place["--width"] = `${(wide / width) * 100}%`;
  return place;
}
