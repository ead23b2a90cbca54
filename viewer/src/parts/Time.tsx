import { clock, moment, type Zone } from "./times";

export function Time({ zone, at }: { zone: Zone; at: string }) {
  return (
    <time dateTime={at} title={moment(zone, at)}>
      {clock(zone, at)}
    </time>
  );
}
