// All sandboxes of a trial as lanes on one time scale, which can be zoomed and moved.
import { Component, createRef } from "preact";
import type { Self } from "../parts/self";
import { clock } from "../parts/times";
import { Coded } from "../parts/Coded";
import { classes, plural } from "../parts/words";
import { timeOf, type OpenTrial } from "../trial";
import { LaneAxis } from "./LaneAxis";
import { LaneFront } from "./LaneFront";
import { LaneLegend } from "./LaneLegend";
import { LaneRow, firstInSight, isEventInSight } from "./LaneRow";
import type { Lane, Span } from "./lanes";
import { LaneTip } from "./LaneTip";
import { groupMarks, type MarkGroup } from "./mark_groups";
import { MarkList } from "./MarkList";
import { LEFT_EDGE, RIGHT_EDGE, STEP_ROOM } from "./measures";
import { moveTarget } from "./move";
import { buildLaneScale, type LaneScale } from "./scale";
import { SequencePicker } from "./SequencePicker";
import type { Sequence } from "./sequences";
import { SequenceWords } from "./SequenceWords";
import { inChart, isInSight, type LaneView } from "./view";
import { ZoomButtons } from "./ZoomButtons";

/** A second is at most as wide, in pixels. */
const WIDEST_SECOND = 120;
const LEAST_MOST_ZOOM = 8;

interface LaneChartProps {
  trial: OpenTrial;
  lanes: Lane[];
  spans: Span[];
  sequences: Sequence[];
  /** The place of the criterion whose steps are drawn; -1 for none. */
  sequence: number;
  /** The place of the criterion whose evidence is lit; -1 for none. */
  chosen: number;
  choose: (place: number) => void;
  selected: number | null;
  /** The event behind which time travel shows the sandboxes; null if it does not. */
  moment: number | null;
  /** Selects an event, and opens the page that it sent. */
  open: (seq: number) => void;
}

interface LaneChartState {
  width: number;
  zoom: number;
  offset: number;
  isLinear: boolean;
  reached: number | null;
  listed: { lane: Lane; group: MarkGroup } | null;
}

interface Drawing {
  view: LaneView;
  groups: MarkGroup[][];
}

export class LaneChart extends Component<LaneChartProps, LaneChartState> {
  override state: LaneChartState = { width: 0, zoom: 1, offset: 0, isLinear: false, reached: null, listed: null };
  private readonly scroll = createRef<HTMLDivElement>();
  private readonly inner = createRef<HTMLDivElement>();
  private readonly axis = createRef<HTMLDivElement>();
  private readonly tipNode: Self<LaneTip> = { current: null };
  private observer: ResizeObserver | null = null;
  private drawing: { key: string; lanes: Lane[]; scale: LaneScale; groups: MarkGroup[][] } | null = null;
  /** The event whose mark gets the focus when it is drawn. */
  private awaited: number | null = null;
  private drag: { x: number; offset: number } | null = null;

  private readonly tip = () => this.tipNode.current!;

  override componentDidMount(): void {
    this.observer = new ResizeObserver(this.measure);
    this.observer.observe(this.inner.current!);
    // Preact adds it as passive otherwise, and the browser would zoom the page.
    this.scroll.current!.addEventListener("wheel", this.onWheel, { passive: false });
    this.measure();
  }

  override componentWillUnmount(): void {
    this.observer?.disconnect();
  }

  override componentDidUpdate(_: LaneChartProps, before: LaneChartState): void {
    const { awaited } = this;
    this.awaited = null;
    const marks = awaited === null ? [] : this.inner.current!.querySelectorAll<HTMLElement>('.lane-mark[tabindex="0"]');
    if (marks[0] && document.activeElement !== marks[0]) marks[0].focus({ preventScroll: true });
    if (this.state.width !== before.width || this.state.zoom !== before.zoom) this.showMissing();
  }

  private readonly measure = () => {
    const width = this.axis.current?.clientWidth ?? 0;
    if (width && width !== this.state.width) this.setState({ width });
  };

  /** In a drawing that is wider than the window, the missing step is scrolled to. */
  private showMissing(): void {
    const scroll = this.scroll.current!;
    if (scroll.scrollWidth <= scroll.clientWidth) return;
    const missing = this.inner.current!.querySelector<HTMLElement>(".lane-front .step-badge.is-fail");
    if (missing) scroll.scrollLeft = missing.offsetLeft - scroll.clientWidth / 2;
  }

  // Zoom

  private get sequence(): Sequence | null {
    return this.props.sequences.find(({ place }) => place === this.props.sequence) ?? null;
  }

  /** The pixels that missing steps keep free at the end. */
  private get stepRoom(): number {
    return (this.sequence?.steps.filter(({ found }) => !found).length ?? 0) * STEP_ROOM;
  }

  /** The scale and the marks at a zoom, which stay until the zoom or the width is another. */
  private scaleAt(zoom: number): { scale: LaneScale; groups: MarkGroup[][] } {
    const { trial, lanes, spans } = this.props;
    const room = this.state.width - LEFT_EDGE - RIGHT_EDGE - this.stepRoom;
    const { isLinear } = this.state;
    const key = `${room} ${zoom} ${isLinear}`;
    if (this.drawing?.key !== key || this.drawing.lanes !== lanes) {
      const scale = buildLaneScale(trial.log, spans, room * zoom, isLinear);
      this.drawing = { key, lanes, scale, groups: lanes.map((lane) => groupMarks(lane, scale)) };
    }
    return this.drawing;
  }

  private totalOf(scale: LaneScale): number {
    return Math.max(scale.end + RIGHT_EDGE + this.stepRoom, this.state.width);
  }

  private draw(): Drawing | null {
    const { width, zoom, offset } = this.state;
    if (!width) return null;
    const { scale, groups } = this.scaleAt(zoom);
    const total = zoom > 1 ? this.totalOf(scale) : width;
    return { groups, view: { scale, width, total, offset: Math.min(Math.max(offset, 0), total - width) } };
  }

  private get mostZoom(): number {
    const { log } = this.props.trial;
    const seconds = log.length ? (timeOf(log.at(-1)!) - timeOf(log[0]!)) / 1000 : 0;
    return Math.max((seconds * WIDEST_SECOND) / (this.state.width || 1), LEAST_MOST_ZOOM);
  }

  /** Zooms so that the time at a place in sight stays there: that of the focus, the pointer, or the middle. */
  private readonly zoomBy = (factor: number, at?: number) => {
    const before = this.draw();
    if (!before) return;
    const zoom = Math.min(Math.max(this.state.zoom * factor, 1), this.mostZoom);
    if (zoom === this.state.zoom) return;
    const focus = this.focusedMark();
    const place = at ?? (focus ? this.placeIn(focus.getBoundingClientRect().left) : before.view.width / 2);
    const time = before.view.scale.time(before.view.offset + place);
    const { scale } = this.scaleAt(zoom);
    if (focus) this.awaited = this.state.reached;
    this.tip().hide();
    this.setState({ zoom, offset: zoom === 1 ? 0 : this.clamp(scale, scale.place(time) - place) });
  };

  private readonly reset = () => {
    if (this.focusedMark()) this.awaited = this.state.reached;
    this.setState({ zoom: 1, offset: 0 });
  };

  /** Changes the scale; the time in the middle stays there. */
  private readonly toggleLinear = () => {
    const before = this.draw();
    if (!before) return;
    const middle = before.view.width / 2;
    const time = before.view.scale.time(before.view.offset + middle);
    this.tip().hide();
    this.setState({ isLinear: !this.state.isLinear }, () => {
      const { scale } = this.scaleAt(this.state.zoom);
      this.setState({ offset: this.state.zoom === 1 ? 0 : this.clamp(scale, scale.place(time) - middle) });
    });
  };

  private clamp(scale: LaneScale, offset: number): number {
    return Math.min(Math.max(offset, 0), this.totalOf(scale) - this.state.width);
  }

  private readonly panBy = (pixels: number) => {
    const drawing = this.draw();
    if (!drawing || this.state.zoom === 1) return;
    this.tip().hide();
    this.setState({ offset: this.clamp(drawing.view.scale, drawing.view.offset + pixels) });
  };

  private placeIn(clientX: number): number {
    return clientX - this.axis.current!.getBoundingClientRect().left;
  }

  private focusedMark(): HTMLElement | null {
    const focus = document.activeElement;
    return focus instanceof HTMLElement && focus.matches(".lane-mark") && this.inner.current!.contains(focus) ? focus : null;
  }

  // Pointer, wheel and keys

  private readonly onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoomBy(2 ** (-event.deltaY / 200), this.placeIn(event.clientX));
    } else if (event.deltaX && this.state.zoom > 1) {
      event.preventDefault();
      this.panBy(event.deltaX);
    }
  };

  private readonly onPointerDown = (event: PointerEvent) => {
    const isOnMark = event.target instanceof Element && event.target.closest("a, button") !== null;
    if (this.state.zoom === 1 || event.button !== 0 || isOnMark) return;
    this.drag = { x: event.clientX, offset: this.draw()!.view.offset };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };

  private readonly onPointerMove = (event: PointerEvent) => {
    if (this.drag) this.panBy(this.drag.offset + this.drag.x - event.clientX - this.draw()!.view.offset);
  };

  private readonly onPointerUp = () => {
    this.drag = null;
  };

  private readonly onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") this.tip().hide();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zooming = { "+": 2, "=": 2, "-": 1 / 2 }[event.key];
    const mark = this.focusedMark();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (zooming) this.zoomBy(zooming);
    else if (event.key === "0") this.reset();
    else if (mark) {
      if (!this.moveFocus(event.key)) return;
    } else if (step && event.target === this.scroll.current && this.state.zoom > 1) this.panBy((step * this.state.width) / 4);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** Moves the focus to another mark; one that is out of sight is brought into it. */
  private moveFocus(key: string): boolean {
    const drawing = this.draw();
    const target = drawing && moveTarget(drawing.groups, this.state.reached, key);
    if (!drawing || target === undefined || target === null) return target === null;
    const [event] = target.events;
    const { view } = drawing;
    if (isEventInSight(view, event!)) {
      this.inner.current!.querySelector<HTMLElement>(`.lane-mark[data-seq="${event!.seq}"]`)?.focus();
    } else {
      this.awaited = event!.seq;
      this.setState({ reached: event!.seq, offset: this.clamp(view.scale, target.x - view.width / 2) });
    }
    return true;
  }

  private readonly focused = ({ events }: MarkGroup) => this.setState({ reached: events[0]!.seq });

  private readonly press = (lane: Lane, group: MarkGroup) => {
    if (group.events.length > 1) this.setState({ listed: { lane, group } });
    else this.props.open(group.events[0]!.seq);
  };

  // Drawing

  /** Where the moment of time travel is; null if it is not shown. */
  private momentPlace(view: LaneView): number | null {
    const { moment, trial } = this.props;
    if (moment === null) return null;
    const event = trial.bySeq.get(moment);
    return event ? view.scale.place(timeOf(event)) : moment === 0 ? LEFT_EDGE : null;
  }

  /** The events that the chosen criterion cites. */
  private get evidence(): Set<number> {
    const criterion = this.props.trial.body.criteria[this.props.chosen];
    return new Set(criterion?.evidence.flatMap(({ seq }) => seq ?? []));
  }

  render() {
    const { trial, lanes, spans, sequences, choose, selected } = this.props;
    const { zoom, listed } = this.state;
    const { sequence, evidence } = this;
    const drawing = this.draw();
    const view = drawing?.view ?? null;
    const isReachable = view && this.state.reached !== null && trial.bySeq.has(this.state.reached) && isEventInSight(view, trial.bySeq.get(this.state.reached)!);
    const reached = isReachable ? this.state.reached : view ? this.firstReached(drawing!) : null;
    const { zone } = trial.body;
    const place = view && this.momentPlace(view);
    const criterion = trial.body.criteria[this.props.chosen];
    return (
      <section class="sandbox-lanes">
        <div class="heading">
          <h3>Sandboxes over time</h3>
          <SequencePicker sequences={sequences} chosen={this.props.sequence} choose={choose} />
          <span class="lane-tools push">
            <label class="lane-linear" title="Time in which nothing happens is drawn as long as it was">
              <input type="checkbox" checked={this.state.isLinear} onChange={this.toggleLinear} />
              True to scale
            </label>
            <ZoomButtons isWhole={zoom === 1} isMost={zoom >= this.mostZoom} zoom={this.zoomBy} reset={this.reset} />
          </span>
        </div>
        <div
          class="lane-chart"
          role="group"
          aria-label="Sandboxes over time. Arrow keys move between marks; plus, minus and zero zoom. The timeline has the same events as a list."
          onKeyDown={this.onKey}
        >
          <div
            class={classes("lane-scroll", zoom > 1 && "zoomed")}
            ref={this.scroll}
            tabIndex={zoom > 1 ? 0 : undefined}
            role="group"
            aria-label={zoom > 1 ? "A part of the time. Arrow keys move it." : undefined}
            onPointerDown={this.onPointerDown}
            onPointerMove={this.onPointerMove}
            onPointerUp={this.onPointerUp}
            onPointerCancel={this.onPointerUp}
          >
            <div class="lane-inner" ref={this.inner}>
              {lanes.map((lane, number) => (
                <LaneRow
                  key={lane.name}
                  trial={trial}
                  lane={lane}
                  spans={spans}
                  groups={drawing?.groups[number] ?? []}
                  view={view}
                  tip={this.tip}
                  evidence={evidence}
                  selected={selected}
                  reached={reached}
                  press={this.press}
                  focused={this.focused}
                />
              ))}
              <div class="lane-row lane-foot">
                <span class="lane-name">
                  <small>{`Time (${zone.name})`}</small>
                </span>
                <div class="lane-axis" aria-hidden="true" ref={this.axis}>
                  <LaneAxis zone={zone} view={view} />
                </div>
              </div>
              <div class="lane-back" aria-hidden="true">
                {view?.scale.breaks.filter(({ x, width }) => isInSight(view, x, x + width)).map(({ x, width }) => <i class="lane-break" style={inChart(view, x, width)} />)}
                {place !== null && view && isInSight(view, place) && <i class="lane-moment" style={inChart(view, place)} />}
              </div>
              <div class="lane-front" aria-hidden="true">
                <LaneFront trial={trial} lanes={lanes} sequence={sequence} selected={selected} view={view} tip={this.tip} />
              </div>
            </div>
          </div>
          <LaneTip self={this.tipNode} />
        </div>
        <p class="lane-range muted" role="status">
          {view && zoom > 1 && `${clock(zone, view.scale.time(view.offset))} to ${clock(zone, view.scale.time(view.offset + view.width))} of the run. Drag to move.`}
        </p>
        {criterion && (
          <p class="lane-evidence">
            {evidence.size ? `${plural(evidence.size, "event")} cited by ` : "No event is cited by "}
            <a href={`#t${trial.number}k${this.props.chosen}`}>
              <Coded text={criterion.label} />
            </a>
          </p>
        )}
        <LaneLegend trial={trial} spans={spans} hasEvidence={evidence.size > 0} hasMoment={place !== null} isLinear={this.state.isLinear} />
        <div class="lane-group">{listed && <MarkList trial={trial} lane={listed.lane} group={listed.group} close={() => this.setState({ listed: null })} />}</div>
        <div class="lane-words">{sequence && <SequenceWords trial={trial} sequence={sequence} />}</div>
      </section>
    );
  }

  private firstReached({ groups, view }: Drawing): number | null {
    for (const own of groups) {
      const seq = firstInSight(own, view);
      if (seq !== null) return seq;
    }
    return null;
  }
}
