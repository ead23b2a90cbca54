// Tasks by trials: one mark for each trial, in the order of the list. Arrow keys go from mark to mark.
import type { Self } from "../parts/self";
import { plainText } from "../parts/Coded";
import { classes, plural } from "../parts/words";
import type { Trial } from "../trial";
import { WindowedRows } from "../windowed/WindowedRows";
import type { Group } from "./groups";
import type { RunModel } from "./model";

const MOST_DRAWN = 60;
const MOST_OPEN = 40;
const ROW_HEIGHT = 22;

/** The marks of a task stand in the order of its trials, whatever their results. */
function inOrder(group: Group): Trial[] {
  return [...group.trials].sort((a, b) => a.row.trial - b.row.trial);
}

export function HeatMap({ self, run }: { self: Self<WindowedRows<Group>>; run: RunModel }) {
  const groups = run.groups.filter((group) => group.trials.some(run.lets));
  if (!run.groups.some((group) => group.trials.length > 1)) return null;
  const current = run.selected ?? groups[0]?.trials[0];
  const row = (group: Group) => (
    <li>
      <span class="heat-name">{plainText(group.task)}</span>
      <span class="heat-cells">
        {inOrder(group).map((trial) => (
          <HeatCell key={trial.number} run={run} trial={trial} isCurrent={trial === current} />
        ))}
      </span>
    </li>
  );
  return (
    <details class="heat" open={run.groups.length <= MOST_OPEN}>
      <summary>
        {`${plural(groups.length, "task")} by ${plural(Math.max(...run.groups.map(({ trials }) => trials.length)), "trial")}`} <small class="muted">each trial is a mark</small>
      </summary>
      <div onKeyDown={moveAmongCells}>
        <WindowedRows self={self} tag="ol" class="heat-rows" items={groups} keyOf={({ task }) => task} row={row} guess={ROW_HEIGHT} least={MOST_DRAWN} scrolls="box" />
      </div>
    </details>
  );
}

function HeatCell({ run, trial, isCurrent }: { run: RunModel; trial: Trial; isCurrent: boolean }) {
  const { row, number } = trial;
  const words = `Trial ${row.trial}: ${run.wordOf(row.outcome)}${row.score === null ? "" : `, score ${row.score.toFixed(2)}`}`;
  return (
    <a
      href={`#t${number}`}
      class={classes("heat-cell", `is-${row.outcome}`, !run.lets(trial) && "is-left-out")}
      tabIndex={isCurrent ? 0 : -1}
      title={words}
      aria-label={`${plainText(row.task)}. ${words}`}
      aria-current={trial === run.selected ? "true" : undefined}
    />
  );
}

const STEPS: Record<string, [rows: number, cells: number]> = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };

function moveAmongCells(event: KeyboardEvent): void {
  const step = STEPS[event.key];
  const cell = (event.target as Element).closest<HTMLElement>(".heat-cell");
  if (!step || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...cell.closest(".heat-rows")!.querySelectorAll("li")].map((row) => [...row.querySelectorAll<HTMLElement>(".heat-cell")]).filter((row) => row.length);
  const place = rows.findIndex((row) => row.includes(cell));
  const cells = rows[place + step[0]] ?? rows[place]!;
  const next = cells[Math.min(Math.max(rows[place]!.indexOf(cell) + step[1], 0), cells.length - 1)]!;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
}
