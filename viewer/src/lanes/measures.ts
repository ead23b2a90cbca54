// Sizes of the drawing in pixels, as in lanes.css.

export const LANE = { height: 58, steps: 12, marks: 36 };
export const LEFT_EDGE = 14;
export const RIGHT_EDGE = 26;
/** What a mark keeps free behind it. */
export const MARK_ROOM = 17;
export const STEP_ROOM = 24;
