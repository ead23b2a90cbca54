// The row of a trial in the list.
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { Cells } from "./Cells";
import type { ListRow, SortBy } from "./groups";
import { trialMarks } from "./marks";
import type { RunModel } from "./model";
import { Snippet } from "./Snippet";

interface TrialLineProps {
  run: RunModel;
  row: Extract<ListRow, { sort: "inner" | "only" }>;
  columns: readonly SortBy[];
  /** The number of the row in the table; the head is the first. */
  place: number;
}

export function TrialLine({ run, row: { sort, trial }, columns, place }: TrialLineProps) {
  const { row } = trial;
  const score = row.score === null ? "" : `score ${row.score.toFixed(2)}`;
  return (
    <div role="row" aria-rowindex={place} class={`row-of-trial is-${row.outcome} ${sort === "inner" ? "inner" : ""}`}>
      <div role="rowheader">
        <a href={`#t${trial.number}`} aria-current={trial === run.selected ? "true" : undefined}>
          <Icon name={row.outcome} />
          <span class="name">{sort === "inner" ? `Trial ${row.trial}` : <Coded text={row.task} />}</span>
          <span class="meta">{[score, ...trialMarks(row)].filter(Boolean).join(" · ")}</span>
        </a>
      </div>
      <Cells columns={columns} result={run.wordOf(row.outcome)} seconds={row.seconds} cost={row.cost} />
      <Snippet run={run} trial={trial} />
    </div>
  );
}
