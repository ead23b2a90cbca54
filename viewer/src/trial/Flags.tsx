// The numbers of the criteria that name a moment of a call, with what they found.
import type { CallMoment } from "../data";

export function Flags({ moments }: { moments: CallMoment[] }) {
  const marks = new Map(moments.flatMap((moment) => moment.marks ?? []).map((mark) => [`${mark.finding} ${mark.passed}`, mark]));
  if (!marks.size) return null;
  return (
    <span class="flags">
      {[...marks.values()].map(({ finding, passed }) => (
        <Flag number={finding} passed={passed} />
      ))}
    </span>
  );
}

export function Flag({ number, passed }: { number: number; passed: boolean }) {
  return (
    <span class={`flag is-${passed ? "pass" : "fail"}`} title={`criterion ${number}: ${passed ? "as expected" : "not as expected"}`}>
      {passed ? "✓" : "✗"} {number}
    </span>
  );
}
