// Words and addresses of the moments of a call.
import type { CallMoment } from "../data";
import { plainText } from "../parts/Coded";
import type { OpenTrial } from "../trial";

export function momentId(trial: OpenTrial, moment: CallMoment): string {
  return `t${trial.number}m${moment.seq}`;
}

/** A moment in one line, for an attribute. */
export function describeMoment({ text, rest, is_cut, speaker, start, end, note }: CallMoment): string {
  const said = [text, rest ? `[cut; not said: ${rest}]` : is_cut ? "[cut]" : ""].filter(Boolean).join(" ");
  const times = start === end ? start : `${start} to ${end}`;
  return plainText(`${[speaker, times].filter(Boolean).join(", ")}: ${said}${note ? ` (${note})` : ""}`);
}

/** Whether all criteria that name some moments found what they expect there; null if none names them. */
export function areCitedAsExpected(moments: CallMoment[]): boolean | null {
  const cited = moments.filter(({ marks }) => marks);
  return cited.length ? moments.every(({ marks = [] }) => marks.every(({ passed }) => passed)) : null;
}
