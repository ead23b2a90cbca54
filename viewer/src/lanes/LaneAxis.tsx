// Times where there is space, always behind a break if there is one, and how long each break is.
import { clock, day, type Zone } from "../parts/times";
import { lasting } from "../parts/words";
import { inChart, isInSight, type LaneView } from "./view";

const TICK_ROOM = 68;
const DAY = 86400;
/** Seconds between the ticks of a linear scale. */
const TICK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];

interface Tick {
  x: number;
  date: string;
  time: string;
}

function listTicks(zone: Zone, view: LaneView): Tick[] {
  const { scale, offset, width, total } = view;
  const { times, places, breaks } = scale;
  const ends = breaks.map((one) => one.x + one.width);
  const ticks: Tick[] = [];
  let [free, date, next] = [-Infinity, "", 0];
  const add = (x: number, at: number) => {
    const today = day(zone, at);
    ticks.push({ x, date: today === date ? "" : today, time: clock(zone, at) });
    free = x + TICK_ROOM * (today === date ? 1 : 2.1);
    date = today;
  };
  if (total > width && offset > 0) add(offset, scale.time(offset)); // there may be no event near the edge
  for (let place = 0; place < times.length; place += 1) {
    const x = places[place]!;
    if (x > offset + width - TICK_ROOM) break;
    while (next < ends.length && ends[next]! < x - 0.1) next += 1;
    const isEnd = next < ends.length && ends[next]! <= x + 0.1;
    const isInWay = !isEnd && place > 0 && next < ends.length && ends[next]! - x < TICK_ROOM;
    if (x >= Math.max(free, offset) && !isInWay) add(x, times[place]!);
  }
  return ticks;
}

/** Ticks at equal distances, at whole minutes, hours or days of the zone. */
function listLinearTicks(zone: Zone, { scale, offset, width }: LaneView): Tick[] {
  const [first, last] = [scale.time(offset), scale.time(offset + width)];
  const seconds = (last - first) / 1000;
  const step = TICK_STEPS.find((one) => (width * one) / (seconds || 1) >= TICK_ROOM * 2.1) ?? TICK_STEPS.at(-1)!;
  const shift = zone.minutes * 60000;
  const ticks: Tick[] = [];
  let date = "";
  for (let at = Math.ceil((first + shift) / (step * 1000)) * step * 1000 - shift; at <= last; at += step * 1000) {
    const today = day(zone, at);
    if (scale.place(at) > offset + width - TICK_ROOM) break;
    ticks.push({ x: scale.place(at), date: today === date ? "" : today, time: clock(zone, at) });
    date = today;
  }
  return ticks;
}

export function LaneAxis({ zone, view }: { zone: Zone; view: LaneView | null }) {
  if (!view) return null;
  return (
    <>
      {(view.scale.isLinear ? listLinearTicks : listTicks)(zone, view).map(({ x, date, time }) => (
        <span class="lane-tick" style={inChart(view, x)}>
          {date && <b>{`${date} `}</b>}
          {time}
        </span>
      ))}
      {view.scale.breaks
        .filter(({ x, width }) => isInSight(view, x, x + width))
        .map(({ x, width, seconds }) => (
          <span class="lane-gap" style={inChart(view, x, width)}>
            {width > 34 ? lasting(seconds, 1) : width > 10 ? "⋯" : ""}
          </span>
        ))}
    </>
  );
}
