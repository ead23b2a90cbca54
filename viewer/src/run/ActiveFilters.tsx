// The filters that hold, each with a button that removes it.
import type { Facet } from "../data";
import { plainText } from "../parts/Coded";
import type { RunModel } from "./model";

const NAMES: Record<Facet, string> = { cause: "Cause", criterion: "Criterion", check: "Check on every task", axis: "Axis", interface: "Interface", tag: "Tag", flaky: "Flaky" };

function listActive(run: RunModel): [string, () => void][] {
  const { outcome, isFlaky, template, rows } = run.filter;
  const active: [string, () => void][] = [];
  if (outcome) active.push([`Verdict: ${run.wordOf(outcome)}`, () => run.setFilter({ outcome: "" })]);
  if (isFlaky) active.push(["Flaky tasks", () => run.setFilter({ isFlaky: false })]);
  if (template) active.push([`Template: ${plainText(template)}`, () => run.setFilter({ template: "" })]);
  for (const [by, row] of rows) active.push([`${NAMES[by]}: ${row.text}`, () => run.setRow(by, null)]);
  return active;
}

export function ActiveFilters({ run, removed }: { run: RunModel; removed: () => void }) {
  return (
    <div class="active-filters" role="group" aria-label="Active filters">
      {listActive(run).map(([text, remove]) => (
        <button
          key={text}
          type="button"
          class="active-filter"
          aria-label={`Remove the filter ${text}`}
          onClick={() => {
            remove();
            removed();
          }}
        >
          <span>{text}</span>
          <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  );
}
