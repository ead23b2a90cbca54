// Every event in the order it happened, one lane per source, with an arrow from what caused it.
import { Component, createRef } from "preact";
import type { Self } from "../parts/self";
import type { LogEvent } from "../data";
import { day } from "../parts/times";
import { classes, lasting } from "../parts/words";
import { timeOf, type OpenTrial } from "../trial";
import { WindowedRows } from "../windowed/WindowedRows";
import { Arrows } from "./Arrows";
import { EventRow } from "./EventRow";
import { LaneHeads } from "./LaneHeads";

/** Events up to which all rows are drawn; they are also those that are printed. */
const MOST_DRAWN = 300;
const ROW_HEIGHT = 40;
const GAP = 60; // seconds

/** A row: an event, or the time that passes before it. */
type Item = { sort: "event"; event: LogEvent } | { sort: "gap"; event: LogEvent; seconds: number; date: string };

interface TimelineProps {
  trial: OpenTrial;
  /** The event that is selected; the object is a new one each time. */
  aim: { seq: number; withPage: boolean } | null;
  /** Called after rows were drawn, to mark the words of a search in them. */
  drawn: () => void;
}

export class Timeline extends Component<TimelineProps> {
  private readonly arrows: Self<Arrows> = { current: null };
  private readonly frame = createRef<HTMLDivElement>();
  private observer: ResizeObserver | null = null;
  private readonly shut = new Set<string>();
  private readonly open = new Set<number>();
  private readonly openPages = new Set<number>();
  private aimed: number | null = null;
  /** An event that is scrolled to as soon as its row is drawn. */
  private awaited: number | null = null;
  private items: Item[] = [];
  private pin: { place: number; items: Item[] | null; seq: number | null } = { place: -1, items: null, seq: null };
  private log: LogEvent[] | null = null;

  override componentWillMount(): void {
    this.takeAim();
  }

  override componentWillReceiveProps(next: TimelineProps): void {
    const isLate = next.aim !== null && next.aim.seq !== this.aimed; // the event may have arrived now
    if (next.aim !== this.props.aim || isLate) this.takeAim(next);
  }

  override componentDidMount(): void {
    this.observer = new ResizeObserver(() => this.arrows.current?.draw());
    this.observer.observe(this.frame.current!);
  }

  override componentWillUnmount(): void {
    this.observer?.disconnect();
  }

  /** Opens the selected event, also if its lane is folded away. */
  private takeAim({ aim, trial } = this.props): void {
    const event = aim && trial.bySeq.get(aim.seq);
    if (!aim || !event) return;
    this.aimed = this.awaited = aim.seq;
    this.open.add(aim.seq);
    if (aim.withPage) this.openPages.add(aim.seq);
    if (this.shut.delete(event.source)) this.log = null;
  }

  private listItems(): Item[] {
    const { trial } = this.props;
    if (this.log === trial.log) return this.items;
    this.log = trial.log;
    this.items = [];
    const { zone } = trial.body;
    let before: LogEvent | null = null;
    for (const event of trial.log) {
      const seconds = before ? (timeOf(event) - timeOf(before)) / 1000 : 0;
      if (before && seconds >= GAP) {
        const to = day(zone, event.at);
        this.items.push({ sort: "gap", event, seconds, date: day(zone, before.at) === to ? "" : `, to ${to}` });
      }
      if (!this.shut.has(event.source)) this.items.push({ sort: "event", event });
      before = event;
    }
    return this.items;
  }

  private readonly toggleLane = (lane: string) => {
    if (!this.shut.delete(lane)) this.shut.add(lane);
    this.log = null;
    this.forceUpdate();
  };

  private readonly toggleEvent = (seq: number) => {
    if (!this.open.delete(seq)) this.open.add(seq);
    this.forceUpdate();
  };

  private readonly togglePage = (seq: number) => {
    if (!this.openPages.delete(seq)) this.openPages.add(seq);
    this.forceUpdate();
  };

  private readonly row = (item: Item) => {
    const { trial } = this.props;
    const { event } = item;
    if (item.sort === "gap") {
      return (
        <li class="gap">
          <span>{`${lasting(item.seconds)} pass${item.date}`}</span>
        </li>
      );
    }
    return (
      <EventRow
        trial={trial}
        event={event}
        log={trial.log}
        lane={this.lanes.indexOf(event.source)}
        isOpen={this.open.has(event.seq)}
        isPageOpen={this.openPages.has(event.seq)}
        isAimed={this.aimed === event.seq}
        toggle={this.toggleEvent}
        togglePage={this.togglePage}
      />
    );
  };

  private lanes: string[] = [];

  private readonly drawn = () => {
    this.scrollToAwaited();
    this.arrows.current?.draw();
    this.props.drawn();
  };

  private scrollToAwaited(): void {
    const { awaited } = this;
    if (awaited === null) return;
    const row = document.getElementById(`t${this.props.trial.number}e${awaited}`);
    if (row) {
      this.awaited = null;
      row.scrollIntoView({ block: "center" });
      row.querySelector<HTMLElement>(".toggle")!.focus({ preventScroll: true });
    }
  }

  /** The row of the selected event, which is drawn wherever it is, so that it can be scrolled to and keeps the focus. */
  private get pinned(): number {
    const { place, items, seq } = this.pin;
    if (items === this.items && seq === this.aimed) return place;
    const found = this.items.findIndex(({ sort, event }) => sort === "event" && event.seq === this.aimed);
    this.pin = { place: found, items: this.items, seq: this.aimed };
    return found;
  }

  render() {
    const { trial } = this.props;
    const items = this.listItems();
    this.lanes = [...new Set(trial.log.map(({ source }) => source))];
    return (
      <div ref={this.frame} class={classes("timeline", this.lanes.length > 5 && "crowded")} style={{ "--lanes": String(this.lanes.length) }}>
        <LaneHeads lanes={this.lanes} shut={this.shut} toggle={this.toggleLane} />
        <WindowedRows tag="ol" class="events" items={items} keyOf={keyOf} row={this.row} guess={ROW_HEIGHT} least={MOST_DRAWN} scrolls="page" pinned={this.pinned} drawn={this.drawn} />
        <Arrows self={this.arrows} trial={trial} frame={this.frame} />
      </div>
    );
  }
}

function keyOf({ sort, event }: Item): string {
  return sort === "gap" ? `before ${event.seq}` : String(event.seq);
}
