// How many trials passed: in words, with the interval, and as a bar.
import type { RunRow } from "./data";
import { percent } from "./words";

const ORDER = ["pass", "partial", "inconclusive", "ungraded", "cancelled", "invalid_person", "errored", "fail"];

export function RunRate({ run }: { run: RunRow }) {
  if (run.changed) return <b class="problem">No rate: the run was changed</b>;
  const total = Math.max(run.done, 1);
  let x = 0;
  const parts = ORDER.filter((name) => run.outcomes[name]).map((name) => {
    const width = run.outcomes[name] ?? 0;
    const part = <rect key={name} class={`fill-${name}`} x={x} y={0} width={width} height={1} />;
    x += width;
    return part;
  });
  const title = ORDER.filter((name) => run.outcomes[name])
    .map((name) => `${run.outcomes[name]} ${name.replace("_", " ")}`)
    .join(", ");
  return (
    <>
      <b>{run.rate ? percent(run.rate[0]) : "none graded"}</b>{" "}
      <span class="muted">
        {run.passed.toLocaleString("en")} of {run.graded.toLocaleString("en")}
      </span>
      <svg class="bar" viewBox={`0 0 ${total} 1`} preserveAspectRatio="none" role="img" aria-label={title || "no trials"}>
        {parts}
      </svg>
      {run.rate && (
        <small>
          95 % interval {percent(run.rate[1])} to {percent(run.rate[2])}
        </small>
      )}
    </>
  );
}
