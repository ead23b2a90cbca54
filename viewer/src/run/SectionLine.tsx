// The head of tasks that have something in common.
import { Coded } from "../parts/Coded";
import { plural } from "../parts/words";
import type { Section } from "./groups";

export function SectionLine({ section, place }: { section: Section; place: number }) {
  const { name, groups, passed, graded } = section;
  return (
    <div role="row" aria-rowindex={place} class="row-of-section">
      <div role="rowheader">
        <Coded text={name} /> <span class="meta">{plural(groups.length, "task")}</span>
      </div>
      <span role="cell" class="column-result">
        {graded ? `${passed} of ${graded}` : ""}
      </span>
    </div>
  );
}
