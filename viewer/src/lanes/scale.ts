// Places of times in pixels. A time in which nothing happens for much longer than usual is a break of fixed width. Other
// times are to scale, and each with an event keeps some room, so that seconds of work stay readable beside minutes.
// A linear scale has neither breaks nor rooms: a minute is as wide as every other.
import type { LogEvent } from "../data";
import { timeOf } from "../trial";
import type { Span } from "./lanes";
import { LEFT_EDGE, MARK_ROOM } from "./measures";

/** What many events in a row of one sandbox keep free together, in marks. */
const MOST_ROOMS = 12;
const BREAK_ROOM = 56;
const [LEAST_QUIET, MOST_QUIET] = [5, 600]; // seconds

export interface Break {
  seconds: number;
  x: number;
  width: number;
}

export class LaneScale {
  constructor(
    readonly times: Float64Array,
    readonly places: Float64Array,
    readonly breaks: Break[],
    readonly isLinear = false,
  ) {}

  get end(): number {
    return this.places.at(-1) ?? LEFT_EDGE;
  }

  place(time: number): number {
    return interpolate(this.times, this.places, time);
  }

  time(place: number): number {
    return interpolate(this.places, this.times, place);
  }
}

/** The value at a key between two that are known; the first or the last for keys outside. */
function interpolate(keys: Float64Array, values: Float64Array, key: number): number {
  let [low, high] = [0, keys.length - 1];
  if (high < 0) return 0;
  if (key <= keys[0]!) return values[0]!;
  if (key >= keys[high]!) return values[high]!;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (keys[middle]! <= key) low = middle;
    else high = middle;
  }
  const share = (key - keys[low]!) / (keys[high]! - keys[low]! || 1);
  return values[low]! + share * (values[high]! - values[low]!);
}

export function buildLaneScale(events: LogEvent[], spans: Span[], width: number, isLinear = false): LaneScale {
  const sources = new Map(events.map((event) => [timeOf(event), event.source]));
  const times = Float64Array.from(new Set([...sources.keys(), ...spans.flatMap(({ start, end }) => [start, end])])).sort();
  if (isLinear) {
    const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
    return new LaneScale(times, times.map((time) => LEFT_EDGE + ((time - first) / (last - first || 1)) * width), [], true);
  }
  const gaps = times.slice(1).map((time, place) => (time - times[place]!) / 1000);
  const median = gaps.slice().sort()[gaps.length >> 1] || 1;
  const quiet = Math.min(Math.max(8 * median, LEAST_QUIET), MOST_QUIET);
  const breaks = gaps.reduce((count, seconds) => count + Number(seconds > quiet), 0);
  const breakWidth = Math.min(BREAK_ROOM, (width * 0.4) / (breaks || 1));
  const free = width - breaks * breakWidth;
  const rooms = shareRoom(times, sources).map((room, place) => (gaps[place]! > quiet ? 0 : room));
  const taken = sum(rooms);
  const narrow = Math.min(1, (free * 0.7) / (taken || 1));
  const rate = Math.max(free - taken * narrow, 0) / (sum(gaps.filter((seconds) => seconds <= quiet)) || 1);
  const places = new Float64Array(times.length);
  places[0] = LEFT_EDGE;
  const drawnBreaks: Break[] = [];
  gaps.forEach((seconds, place) => {
    const isBreak = seconds > quiet;
    const room = isBreak ? breakWidth : rooms[place]! * narrow + seconds * rate;
    if (isBreak) drawnBreaks.push({ seconds, x: places[place]!, width: breakWidth });
    places[place + 1] = places[place]! + room;
  });
  return new LaneScale(times, places, drawnBreaks);
}

/** The room behind each time; a long row of events of one sandbox shares that of a short one. */
function shareRoom(times: Float64Array, sources: ReadonlyMap<number, string>): Float64Array {
  const rooms = new Float64Array(Math.max(times.length - 1, 0));
  for (let start = 0, end = 0; start < rooms.length; start = end) {
    const source = sources.get(times[start + 1]!);
    while (end < rooms.length && sources.get(times[end + 1]!) === source) end += 1;
    rooms.fill(MARK_ROOM * Math.min(1, MOST_ROOMS / (end - start)), start, end);
  }
  return rooms;
}

function sum(numbers: Float64Array): number {
  return numbers.reduce((total, number) => total + number, 0);
}
