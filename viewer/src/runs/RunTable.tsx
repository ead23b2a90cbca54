// The table of runs.
import type { JSX } from "preact";
import { Breakable } from "../parts/Breakable";
import { type Figures, type RunRow, prefix } from "./data";
import { RunRate } from "./RunRate";
import { dollars, duration, instant } from "./words";

interface Props {
  runs: RunRow[];
  figures: Record<string, Figures>;
  chosen: string[];
  sort: string;
  canChange: boolean;
  onChoose: (id: string) => void;
  onSort: (name: string) => void;
  onFilter: (name: string, value: string) => void;
  onLabel: (run: RunRow) => void;
  onDelete: (run: RunRow) => void;
}

const STATUS = { running: "running", interrupted: "interrupted", completed: "", cancelled: "stopped" };
const COLUMNS = [
  ["benchmark", "Run"],
  ["agent", "Agent"],
  ["rate", "Passed"],
] as const;

export function RunTable(props: Props) {
  const { runs, sort, onSort } = props;
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label="Runs">
      <table class="listed run-table">
        <thead>
          <tr>
            <th scope="col" class="choose">
              <span class="hidden">Choose</span>
            </th>
            {COLUMNS.map(([name, title]) => (
              <th key={name} scope="col" aria-sort={sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none"}>
                <button type="button" onClick={() => onSort(name)}>
                  {title}
                  {sort === name ? " ↑" : sort === `-${name}` ? " ↓" : ""}
                </button>
              </th>
            ))}
            <th scope="col">Axes</th>
            <th scope="col">Cost</th>
            <th scope="col">Started</th>
            {props.canChange && (
              <th scope="col">
                <span class="hidden">Change</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row key={run.id} run={run} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ run, figures, chosen, canChange, onChoose, onFilter, onLabel, onDelete }: Props & { run: RunRow }) {
  const found = figures[run.id];
  const link = (name: string, value: string) => (
    <FilterLink name={name} value={value} onFilter={onFilter}>
      {value}
    </FilterLink>
  );
  return (
    <tr id={run.id} data-chosen={chosen.includes(run.id) || undefined}>
      <td class="choose">
        <input type="checkbox" aria-label={`Choose ${run.id}`} checked={chosen.includes(run.id)} onChange={() => onChoose(run.id)} disabled={!run.can_open} />
      </td>
      <th scope="row">
        {run.label && <span class="run-label">{run.label}</span>}
        {run.can_open ? (
          <a class="run-name" href={`${prefix}/runs/${encodeURIComponent(run.id)}`}>
            {run.id}
          </a>
        ) : (
          <span class="run-name">{run.id}</span>
        )}
        <div class="run-facts">
          <span>{link("benchmark", run.benchmark)}</span>
          {run.lineage && <span>{run.lineage}</span>}
          {run.commit && (
            <span>
              commit <code title={run.commit}>{run.commit.slice(0, 9)}</code>
            </span>
          )}
          {run.tags.slice(0, 6).map((tag) => (
            <span key={tag}>{link("tag", tag)}</span>
          ))}
        </div>
      </th>
      <td class="run-agent">
        <FilterLink name="agent" value={run.agent} onFilter={onFilter}>
          <Breakable path={run.agent} />
        </FilterLink>
      </td>
      <td class="run-rate">
        <RunRate run={run} />
      </td>
      <td>
        {found && Object.keys(found.axes).length > 0 && (
          <dl class="run-axes">
            {Object.entries(found.axes).map(([axis, score]) => (
              <>
                <dt>{axis}</dt>
                <dd>{score.toFixed(2)}</dd>
              </>
            ))}
          </dl>
        )}
      </td>
      <td class="number">{found && found.cost !== null ? dollars(found.cost) : ""}</td>
      <td class="number">
        {instant(run.started)}
        <div class="run-facts">
          {run.status !== "completed" && (
            <span class={`status-${run.status}`}>
              {STATUS[run.status]}, {run.done} of {run.total}
            </span>
          )}
          {run.seconds !== null && <span>{duration(run.seconds)}</span>}
        </div>
      </td>
      {canChange && (
        <td>
          <div class="more-actions">
            <button type="button" class="quiet" onClick={() => onLabel(run)} aria-label={`Label ${run.id}`}>
              Label
            </button>
            <button type="button" class="quiet" onClick={() => onDelete(run)} aria-label={`Delete ${run.id}`} disabled={run.status === "running"}>
              Delete
            </button>
          </div>
        </td>
      )}
    </tr>
  );
}

interface LinkProps {
  name: string;
  value: string;
  onFilter: (name: string, value: string) => void;
  children: JSX.Element | string;
}

/** A link to the list with one filter. Opened in the same tab, it keeps the other filters. */
function FilterLink({ name, value, onFilter, children }: LinkProps) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onFilter(name, value);
  };
  return (
    <a href={`${prefix}/?${new URLSearchParams([[name, value]])}`} onClick={open}>
      {children}
    </a>
  );
}
