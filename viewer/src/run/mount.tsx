// Puts a run into the page: the list, the selected trial, the buttons of the header, keys and addresses.
import { render } from "preact";
import type { Self } from "../parts/self";
import { plural } from "../parts/words";
import type { Slots } from "../slots";
import { SlotsContext } from "../slots";
import type { RunRows, Source } from "../source";
import type { Trial } from "../trial";
import { criterionOutcome } from "../trial/criterion_outcome";
import { TrialView } from "../trial/TrialView";
import { WindowedRows } from "../windowed/WindowedRows";
import type { Group } from "./groups";
import { HeatMap } from "./HeatMap";
import { highlight } from "./highlight";
import { keyDown } from "./keys";
import { RunModel, type Aim } from "./model";
import { addCopyButtons, buildOverviewButtons, findRow } from "./overview";
import { RunContext } from "./RunContext";
import { TrialList } from "./TrialList";

const AGAIN = 2000; // milliseconds until the rows of a run in progress are read again

export class RunPage {
  readonly list: Self<TrialList> = { current: null };
  readonly run: RunModel;
  private readonly article = document.getElementById("trial")!;
  private readonly nav = document.getElementById("list")!;
  private readonly heat = document.getElementById("heat");
  private readonly heatRows: Self<WindowedRows<Group>> = { current: null };
  private updateOverview: () => void = () => {};

  constructor(
    source: Source,
    private readonly slots: Slots,
  ) {
    this.run = new RunModel(source, () => this.draw(), findRow);
  }

  start(): void {
    document.querySelector<HTMLElement>("main")!.hidden = false;
    addCopyButtons();
    const rows = this.run.source.rows();
    if (rows instanceof Promise) {
      this.draw();
      void this.follow(rows);
    } else this.begin(rows);
  }

  private begin(rows: RunRows): void {
    this.run.take(rows);
    this.updateOverview = buildOverviewButtons(this.run, this.press);
    this.run.readAddress();
    this.draw();
    this.list.current!.showWords(this.run.words);
    if (this.run.trials.length) this.route();
    window.addEventListener("hashchange", this.route);
    window.addEventListener("popstate", this.readAddress);
    window.addEventListener("beforeprint", unfold);
    document.addEventListener("keydown", (event) => keyDown(this, event));
  }

  /** Reads the rows, and again while the run is in progress. What is selected stays. */
  private async follow(first: Promise<RunRows>): Promise<void> {
    let rows = first;
    let isBegun = false;
    for (;;) {
      try {
        const now = await rows;
        showProgress(now);
        if (isBegun) {
          if (this.run.isActive && !now.is_active) {
            location.reload(); // the header now has what was counted
            return;
          }
          this.run.take(now);
          if (!this.run.selected && this.run.trials.length) this.route();
          this.draw();
        } else this.begin(now);
        isBegun = true;
      } catch (error) {
        this.run.problem = error instanceof Error ? error.message : String(error);
        this.draw();
      }
      if (!this.run.isActive && !this.run.problem) return;
      await new Promise((done) => setTimeout(done, AGAIN));
      rows = Promise.resolve(this.run.source.rows());
    }
  }

  private readonly readAddress = () => {
    this.run.readAddress();
    this.list.current!.showWords(this.run.words);
    this.draw();
  };

  /** Applies a change of the filters. If they do not let the selected trial through, the next one is selected. */
  readonly press = (change: () => void) => {
    change();
    if (this.run.selected && !this.run.lets(this.run.selected)) this.move(1);
  };

  /** Selects what the address names, or the first trial of the list, which has failures first. */
  readonly route = () => {
    // e: an event; m: a moment of a call; c: a call; k: a criterion; `#failed`: the first failed criterion of the first trial
    const [, number, sort, place] = /^#t(\d+)(?:([emck])(\d+))?$/.exec(location.hash) ?? [];
    const trial = number ? this.run.trial(Number(number)) : (this.run.selected ?? this.run.listed()[0]);
    if (!trial) return;
    let aim: Aim | null = sort ? { sort: sort as Aim["sort"], place: Number(place) } : null;
    if (location.hash === "#failed") {
      const failed = trial.body?.criteria.findIndex((criterion) => criterionOutcome(criterion) === "fail") ?? -1;
      aim = failed < 0 ? null : { sort: "k", place: failed };
    }
    const isOther = trial !== this.run.selected;
    const isFirst = this.run.selected === null;
    this.run.select(trial, aim);
    if (!isOther) return;
    this.list.current!.reveal(trial);
    const { top } = this.article.getBoundingClientRect();
    if (!isFirst && !aim && (top < 0 || top > innerHeight / 2)) this.article.scrollIntoView({ block: "start" });
  };

  /** Goes to the next trial that the filters let through; null if there is none. */
  readonly move = (step: number): Trial | null => {
    const { selected } = this.run;
    return selected && this.goTo(this.run.neighbour(selected, step));
  };

  goTo(trial: Trial | null): Trial | null {
    if (trial) location.hash = `#t${trial.number}`;
    return trial;
  }

  private readonly drawn = () => highlight(this.article, this.run.search);

  private draw(): void {
    const { run, slots } = this;
    this.updateOverview();
    render(
      <RunContext.Provider value={run}>
        <TrialList self={this.list} run={run} press={this.press} />
      </RunContext.Provider>,
      this.nav,
    );
    if (this.heat) render(<HeatMap self={this.heatRows} run={run} />, this.heat);
    const { selected } = run;
    if (!selected) return;
    render(
      <RunContext.Provider value={run}>
        <SlotsContext.Provider value={slots}>
          <TrialView key={selected.number} run={run} trial={selected} aim={run.aim} go={this.move} drawn={this.drawn} />
        </SlotsContext.Provider>
      </RunContext.Provider>,
      this.article,
    );
    this.drawn();
  }
}

function showProgress({ progress }: RunRows): void {
  const line = document.getElementById("progress");
  if (line && progress) line.textContent = `${progress.done.toLocaleString("en")} of ${plural(progress.total, "trial")} are done.`;
}

function unfold(): void {
  for (const fold of document.querySelectorAll<HTMLDetailsElement>("#trial details")) fold.open = true;
}
