// Which mark the arrow keys lead to: left and right in its lane, up and down to the nearest in another.
import type { MarkGroup } from "./mark_groups";

/** The next mark; null at an end; undefined for a key that moves nowhere. */
export function moveTarget(lanes: MarkGroup[][], from: number | null, key: string): MarkGroup | null | undefined {
  const rows = lanes.filter((row) => row.length);
  const has = ({ events }: MarkGroup) => events.some(({ seq }) => seq === from);
  const number = rows.findIndex((row) => row.some(has));
  const row = rows[number];
  if (!row) return undefined;
  const place = row.findIndex(has);
  const { x } = row[place]!;
  const nearest = (other: MarkGroup[] | undefined) => other?.reduce((best, one) => (Math.abs(one.x - x) < Math.abs(best.x - x) ? one : best)) ?? null;
  switch (key) {
    case "ArrowRight":
      return row[place + 1] ?? null;
    case "ArrowLeft":
      return row[place - 1] ?? null;
    case "Home":
      return row[0]!;
    case "End":
      return row.at(-1)!;
    case "ArrowDown":
      return nearest(rows[number + 1]);
    case "ArrowUp":
      return nearest(rows[number - 1]);
    default:
      return undefined;
  }
}
