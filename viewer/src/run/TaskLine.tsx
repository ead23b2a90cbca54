// The row of a task with several trials, which opens to them.
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { Cells } from "./Cells";
import type { Group, SortBy } from "./groups";
import type { RunModel } from "./model";
import { Snippet } from "./Snippet";

interface TaskLineProps {
  run: RunModel;
  group: Group;
  columns: readonly SortBy[];
  place: number;
}

export function TaskLine({ run, group, columns, place }: TaskLineProps) {
  const outcome = group.isFlaky ? "flaky" : group.worst;
  const result = group.graded && group.worst !== "changed" ? `${group.passed} of ${group.graded}` : run.wordOf(group.worst);
  return (
    <div role="row" aria-rowindex={place} class={`row-of-task is-${outcome}`} data-first={group.trials[0]!.number}>
      <div role="rowheader">
        <button type="button" class="task-toggle" aria-expanded={group.isOpen} onClick={() => run.openGroup(group, !group.isOpen)}>
          <Icon name={outcome} />
          <span class="name">
            <Coded text={group.task} />
          </span>
          <span class="meta">
            {group.isFlaky && <b class="flaky-word">flaky</b>}
            {group.isFlaky && " · "}
            {countOutcomes(run, group)}
          </span>
        </button>
      </div>
      <Cells columns={columns} result={result} seconds={group.seconds} cost={group.cost} />
      <Snippet run={run} trial={group.isOpen ? null : (group.trials.find(run.lets) ?? null)} />
    </div>
  );
}

function countOutcomes(run: RunModel, { trials }: Group): string {
  const counts = new Map<string, number>();
  for (const { row } of trials) counts.set(row.outcome, (counts.get(row.outcome) ?? 0) + 1);
  const outcomes = [...counts].sort(([a], [b]) => run.rankOf(a) - run.rankOf(b));
  return outcomes.map(([outcome, number]) => `${number} ${run.wordOf(outcome).toLowerCase()}`).join(", ");
}
