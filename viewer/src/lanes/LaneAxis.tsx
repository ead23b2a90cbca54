// Times where there is space, always behind a break if there is one, and how long each break is.
import { clock, day, type Zone } from "../parts/times";
import { lasting } from "../parts/words";
import { inChart, isInSight, type LaneView } from "./view";

const TICK_ROOM = 68;

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

export function LaneAxis({ zone, view }: { zone: Zone; view: LaneView | null }) {
  if (!view) return null;
  return (
    <>
      {listTicks(zone, view).map(({ x, date, time }) => (
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
