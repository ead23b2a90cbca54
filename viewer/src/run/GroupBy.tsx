// Chooses by what the tasks of the list are grouped.
import { canGroupBy, SECTIONS, type SectionBy } from "./groups";
import type { RunModel } from "./model";

export function GroupBy({ run }: { run: RunModel }) {
  const choices = (Object.keys(SECTIONS) as SectionBy[]).filter((by) => canGroupBy(run.groups, by));
  if (!choices.length || run.groups.length < 2) return null;
  return (
    <label class="group-by">
      Group by{" "}
      <select value={run.filter.groupBy} onChange={(event) => run.setFilter({ groupBy: event.currentTarget.value as SectionBy | "" })}>
        <option value="">nothing</option>
        {choices.map((by) => (
          <option value={by}>{SECTIONS[by].toLowerCase()}</option>
        ))}
      </select>
    </label>
  );
}
