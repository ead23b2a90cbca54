import { COLUMNS, type SortBy } from "./groups";
import type { RunModel } from "./model";

export function ColumnHeads({ run, columns }: { run: RunModel; columns: readonly SortBy[] }) {
  const { by: sorted, isReversed } = run.sorting;
  return (
    <div class="trials-head" role="rowgroup">
      <div role="row" aria-rowindex={1}>
        {COLUMNS.filter(({ by }) => columns.includes(by)).map(({ by, title, isLargestFirst = false }) => (
          <span role="columnheader" class={`column-${by}`} data-by={by} aria-sort={by !== sorted ? "none" : isReversed ? "descending" : "ascending"}>
            <button type="button" title={by === "seconds" || by === "cost" ? "Of several trials: the mean" : undefined} onClick={() => run.sort(by, isLargestFirst)}>
              {title}
            </button>
          </span>
        ))}
      </div>
    </div>
  );
}
