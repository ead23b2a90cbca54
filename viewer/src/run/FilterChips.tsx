// Buttons that show the trials of one verdict, or of flaky tasks.
import type { ComponentChildren } from "preact";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import type { RunModel } from "./model";

interface ChipProps {
  class?: string;
  title?: string;
  isPressed: boolean;
  press: () => void;
  children: ComponentChildren;
}

function Chip({ class: name = "", title, isPressed, press, children }: ChipProps) {
  return (
    <button type="button" class={`chip ${name}`} title={title} aria-pressed={isPressed} onClick={press}>
      {children}
    </button>
  );
}

export function FilterChips({ run, press }: { run: RunModel; press: (change: () => void) => void }) {
  const { trials, filter } = run;
  const counts = new Map<string, number>();
  for (const { row } of trials) counts.set(row.outcome, (counts.get(row.outcome) ?? 0) + 1);
  const flaky = new Set(trials.filter(({ row }) => row.flaky !== undefined).map(({ row }) => row.task)).size;
  if (counts.size < 2) return null;
  return (
    <div class="chips" role="group" aria-label="Filter trials by verdict">
      <Chip title="Remove all filters" isPressed={!run.isFiltered} press={() => press(() => run.clearFilters())}>
        {`All ${trials.length.toLocaleString("en")}`}
      </Chip>
      {Object.keys(run.outcomes)
        .filter((outcome) => counts.has(outcome))
        .map((outcome) => (
          <Chip class={`is-${outcome}`} isPressed={filter.outcome === outcome} press={() => press(() => run.setFilter({ outcome: filter.outcome === outcome ? "" : outcome }))}>
            <Icon name={outcome} />
            {`${run.wordOf(outcome)} ${counts.get(outcome)!.toLocaleString("en")}`}
          </Chip>
        ))}
      {flaky > 0 && (
        <Chip class="is-flaky" title="Tasks of which some trials passed and some did not" isPressed={filter.isFlaky} press={() => press(() => run.setFilter({ isFlaky: !filter.isFlaky }))}>
          <Icon name="flaky" />
          {`Flaky ${plural(flaky, "task")}`}
        </Chip>
      )}
    </div>
  );
}
