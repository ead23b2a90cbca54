// One lane: what lasts as bars, and its events as marks.
import { Icon } from "../parts/Icon";
import { classes, lasting, plural } from "../parts/words";
import { timeOf, type OpenTrial } from "../trial";
import type { Lane, Span } from "./lanes";
import type { LaneTip } from "./LaneTip";
import { summarizeMark, type MarkGroup } from "./mark_groups";
import { inChart, isInSight, type LaneView } from "./view";

interface LaneRowProps {
  trial: OpenTrial;
  lane: Lane;
  spans: Span[];
  groups: MarkGroup[];
  /** Null until the width is known. */
  view: LaneView | null;
  tip: () => LaneTip;
  /** The events that the chosen criterion cites. */
  evidence: ReadonlySet<number>;
  selected: number | null;
  /** The event whose mark can be reached with Tab. */
  reached: number | null;
  press: (lane: Lane, group: MarkGroup) => void;
  focused: (group: MarkGroup) => void;
}

export function LaneRow(props: LaneRowProps) {
  const { lane, view } = props;
  const number = lane.events.length ? plural(lane.events.length, "event") : "no events";
  return (
    <div class={classes("lane-row", !lane.events.length && "unused")}>
      <span class="lane-name">
        <b>{lane.name}</b>
        <small>{lane.kind && lane.kind !== lane.name ? `${lane.kind} · ${number}` : number}</small>
      </span>
      <ol class="lane-track" aria-label={`${lane.name}: ${number}`}>
        {view && <Bars {...props} view={view} />}
        {view &&
          props.groups
            .filter(({ x, end }) => isInSight(view, x, end))
            .map((group) => (
              <li key={group.events[0]!.seq}>
                <Mark {...props} view={view} group={group} />
              </li>
            ))}
      </ol>
    </div>
  );
}

function Bars({ lane, spans, view, tip }: LaneRowProps & { view: LaneView }) {
  let captioned = 0;
  const own = spans
    .filter((span) => span.lane === lane.name)
    .map((span) => ({ ...span, x: view.scale.place(span.start), wide: view.scale.place(span.end) - view.scale.place(span.start) }))
    .filter(({ x, wide }) => isInSight(view, x, x + wide));
  return (
    <>
      {own.map((span) => {
        const text = `${span.text}, ${lasting((span.end - span.start) / 1000)}`;
        const left = Math.max(span.x, view.offset); // the caption of a bar that begins out of sight
        const room = span.x + span.wide - left;
        const words = span.sort === "hold" || room < 40 || left < captioned ? "" : room < 110 ? span.text : text;
        if (words) captioned = left + Math.min(room, words.length * 6);
        return (
          <li key={`${span.sort} ${span.start} ${span.text}`}>
            <a class={`lane-bar is-${span.sort}`} href={span.href} tabIndex={-1} aria-label={text} style={{ ...inChart(view, left, room) }} {...tip().for(() => [text])}>
              {words && <span>{words}</span>}
            </a>
          </li>
        );
      })}
    </>
  );
}

function Mark({ trial, lane, view, group, tip, evidence, selected, reached, press, focused }: LaneRowProps & { view: LaneView; group: MarkGroup }) {
  const { events, x, end } = group;
  const { trouble, byAgent, hasPages, isCited, lines } = summarizeMark(trial, lane, group);
  const several = events.length > 1;
  const handlers = tip().for(() => lines);
  const shared = {
    class: classes(
      "lane-mark",
      byAgent === "all" ? "by-agent" : byAgent === "some" && "by-both",
      trouble && `odd ${trouble.kind}`,
      several && "several",
      isCited && "is-cited",
      hasPages && "pages",
      evidence.size > 0 && events.some(({ seq }) => evidence.has(seq)) && "is-evidence",
      selected !== null && events.some(({ seq }) => seq === selected) && "is-selected",
    ),
    tabIndex: reached !== null && events.some(({ seq }) => seq === reached) ? 0 : -1,
    "aria-label": lines.join("; "),
    "data-seq": events[0]!.seq,
    style: inChart(view, x, end - x),
    ...handlers,
    onFocus: (event: { currentTarget: Element }) => {
      handlers.onFocus(event);
      focused(group);
    },
    onClick: () => press(lane, group),
  };
  const shape = trouble && <Icon name={trouble.icon} />;
  if (several) {
    return (
      <button type="button" {...shared}>
        {shape}
        <span>{events.length.toLocaleString("en")}</span>
      </button>
    );
  }
  return (
    <a href={`#t${trial.number}e${events[0]!.seq}`} {...shared}>
      {shape}
    </a>
  );
}

/** The first event of the log that is in a mark in sight. */
export function firstInSight(groups: MarkGroup[], view: LaneView): number | null {
  const group = groups.find(({ x, end }) => end >= view.offset && x <= view.offset + view.width);
  return group ? group.events[0]!.seq : null;
}

/** Whether an event is in sight. */
export function isEventInSight(view: LaneView, event: Parameters<typeof timeOf>[0]): boolean {
  const x = view.scale.place(timeOf(event));
  return x >= view.offset && x <= view.offset + view.width;
}
