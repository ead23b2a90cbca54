// The list: a row for each task, which opens to its trials. It can be sorted, filtered and searched.
import { Component, createRef } from "preact";
import { Command } from "../parts/Command";
import type { Self } from "../parts/self";
import type { Trial } from "../trial";
import { WindowedRows } from "../windowed/WindowedRows";
import { ActiveFilters } from "./ActiveFilters";
import { ColumnHeads } from "./ColumnHeads";
import { FilterChips } from "./FilterChips";
import { GroupBy } from "./GroupBy";
import { COLUMNS, keyOfRow, type ListRow, type SortBy } from "./groups";
import type { RunModel } from "./model";
import { SectionLine } from "./SectionLine";
import { TaskLine } from "./TaskLine";
import { TrialLine } from "./TrialLine";

/** Rows up to which all are drawn. */
const MOST_DRAWN = 80;
const ROW_HEIGHT = 62;

interface TrialListProps {
  self: Self<TrialList>;
  run: RunModel;
  /** Applies a change of the filters, and selects a trial that they let through. */
  press: (change: () => void) => void;
}

export class TrialList extends Component<TrialListProps> {
  private readonly rows: Self<WindowedRows<ListRow>> = { current: null };
  private readonly input = createRef<HTMLInputElement>();

  override componentWillMount(): void {
    this.props.self.current = this;
  }

  private readonly row = (row: ListRow, place: number) => {
    const { run } = this.props;
    if (row.sort === "section") return <SectionLine section={row.section} place={place + 2} />;
    const shared = { run, columns: this.columns, place: place + 2 };
    return row.sort === "task" ? <TaskLine group={row.group} {...shared} /> : <TrialLine row={row} {...shared} />;
  };

  private get columns(): SortBy[] {
    const { trials } = this.props.run;
    return COLUMNS.map(({ by }) => by).filter((by) => by === "name" || by === "result" || trials.some(({ row }) => row[by] !== undefined));
  }

  private placeOf(trial: Trial | null): number {
    return this.props.run.rows.findIndex((row) => "trial" in row && row.trial === trial);
  }

  /** Scrolls the list alone to a trial; scrollIntoView would move the page too. */
  reveal(trial: Trial): void {
    this.rows.current?.reveal(this.placeOf(trial));
  }

  focusSearch(): void {
    this.input.current?.focus({ preventScroll: true });
  }

  /** Writes the words of the address into the field. */
  showWords(words: string): void {
    if (this.input.current) this.input.current.value = words;
  }

  render() {
    const { run, press } = this.props;
    const { columns } = this;
    return (
      <>
        <div class="filters">
          <input
            ref={this.input}
            type="search"
            placeholder="Search conversations and evidence"
            aria-label="Search names, tags, conversations, evidence and events"
            onFocus={() => run.prepareSearch()}
            onInput={(event) => run.startSearch(event.currentTarget.value)}
          />
          <FilterChips run={run} press={press} />
          <GroupBy run={run} />
          <ActiveFilters run={run} removed={() => this.focusSearch()} />
        </div>
        <p class="shown" role="status">
          {run.status()}
        </p>
        {run.search.found !== null && !run.source.isEmbedded && <Command line={run.commandLine("show", "--search", run.words)} />}
        <div class={`trials columns-${columns.length}`} role="table" aria-label="Tasks and their trials" aria-rowcount={run.rows.length + 1}>
          <ColumnHeads run={run} columns={columns} />
          <WindowedRows self={this.rows} tag="div" class="trials-body" items={run.rows} keyOf={keyOfRow} row={this.row} guess={ROW_HEIGHT} least={MOST_DRAWN} scrolls="box" pinned={this.placeOf(run.selected)} />
        </div>
        <p class="keys">
          <kbd>j</kbd> <kbd>k</kbd> next, previous{"  "}
          <kbd>/</kbd> search
        </p>
      </>
    );
  }
}
