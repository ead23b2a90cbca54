// The sandboxes of a trial as they were at one moment, with a scrubber over its events.
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import type { LoadRecord, LoadState, MomentEvent, MomentState } from "./data";
import { SandboxPanel } from "./SandboxPanel";
import { SandboxTabs } from "./SandboxTabs";
import { formatTime as formatInUtc } from "./time";
import { useMoment } from "./useMoment";

const PLAY_STEP = 700; // milliseconds between two events that are played

export interface MomentProps {
  loadState: LoadState;
  loadRecord: LoadRecord;
  /** The events of the trial in the order of the log. */
  events: MomentEvent[];
  /** The last event that has happened; 0 is the start. */
  seq: number;
  onSeq: (seq: number) => void;
  /** Renders a simulated time, by default in UTC. */
  formatTime?: (at: string) => string;
}

export function Moment({ loadState, loadRecord, events, seq, onSeq, formatTime = formatInUtc }: MomentProps) {
  const { state, isLoading, error } = useMoment(seq, loadState);
  const [chosen, setChosen] = useState("");
  const [isChangedOnly, setChangedOnly] = useState(false);
  const [isPlaying, setPlaying] = useState(false);
  const id = useId();

  const place = useMemo(() => findPlace(events, seq), [events, seq]);
  const event = events[place - 1];
  const last = events.length;
  const move = (to: number) => {
    const next = Math.min(Math.max(to, 0), last);
    onSeq(next === 0 ? 0 : (events[next - 1]?.seq ?? 0));
  };
  const step = (by: number) => {
    setPlaying(false);
    move(place + by);
  };

  // The next event is played when the state of the last one is shown.
  useEffect(() => {
    if (!isPlaying || isLoading) return undefined;
    if (place >= last || error !== "") {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => move(place + 1), PLAY_STEP);
    return () => clearTimeout(timer);
  }, [isPlaying, isLoading, place, last, error]);

  const onKeyDown = (pressed: KeyboardEvent) => {
    const by = pressed.key === "," ? -1 : pressed.key === "." ? 1 : 0;
    if (by === 0 || pressed.altKey || pressed.ctrlKey || pressed.metaKey) return;
    pressed.preventDefault();
    pressed.stopPropagation();
    step(by);
  };

  const names = state === null ? [] : Object.keys(state.sandboxes);
  const shown = names.includes(chosen) ? chosen : (names[0] ?? "");
  const sandbox = state?.sandboxes[shown];
  const words = event === undefined ? "Start of the trial" : `Event ${event.seq}: ${event.source}, ${event.line}`;

  return (
    <section class="moment" aria-labelledby={`${id}-title`} onKeyDown={onKeyDown}>
      <h3 class="hidden" id={`${id}-title`}>
        Time travel
      </h3>
      <div class="moment-controls">
        <button type="button" onClick={() => step(-1)} disabled={place === 0} aria-keyshortcuts=",">
          ‹ Previous <span class="hidden">event</span>
        </button>
        <button type="button" onClick={() => setPlaying(!isPlaying)} disabled={place >= last && !isPlaying}>
          {isPlaying ? "Pause" : "Play"}
        </button>
        <button type="button" onClick={() => step(1)} disabled={place >= last} aria-keyshortcuts=".">
          Next <span class="hidden">event</span> ›
        </button>
        <input
          type="range"
          min={0}
          max={last}
          step={1}
          value={place}
          aria-label="Moment"
          aria-valuetext={words}
          onInput={(input) => {
            setPlaying(false);
            move(input.currentTarget.valueAsNumber);
          }}
        />
        <label class="moment-switch">
          <input type="checkbox" checked={isChangedOnly} onChange={(input) => setChangedOnly(input.currentTarget.checked)} />
          Changed only
        </label>
      </div>
      <p class="moment-now">
        <time dateTime={event?.at ?? state?.at ?? ""}>{formatTime(event?.at ?? state?.at ?? "")}</time>
        <span class="moment-place">
          {place} of {last}
        </span>
        <span class="moment-event">
          {event !== undefined && <code>{event.kind}</code>} {words}
        </span>
      </p>
      <p class="hidden" role="status" aria-live="polite">
        {state !== null && !isLoading && error === "" ? announce(state, words) : ""}
      </p>
      {error !== "" && (
        <p class="moment-error" role="alert">
          This moment cannot be shown: {error}
        </p>
      )}
      <div class="moment-state" aria-busy={isLoading}>
        {state === null && error === "" && <p class="muted">Loading…</p>}
        {state !== null && names.length === 0 && <p class="muted">The trial has no sandboxes.</p>}
        {state !== null && sandbox !== undefined && (
          <>
            <SandboxTabs id={id} sandboxes={state.sandboxes} chosen={shown} onChoose={setChosen} />
            <SandboxPanel
              key={shown}
              id={id}
              name={shown}
              sandbox={sandbox}
              seq={state.seq}
              isChangedOnly={isChangedOnly}
              loadRecord={loadRecord}
              onSeq={(to) => {
                setPlaying(false);
                onSeq(to);
              }}
            />
          </>
        )}
      </div>
    </section>
  );
}

/** How many of the events have happened. They are in the order of the log. */
function findPlace(events: MomentEvent[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

function announce(state: MomentState, words: string): string {
  const changes = Object.entries(state.sandboxes).flatMap(([name, { counts }]) => {
    const count = counts.created + counts.updated + counts.deleted;
    return count > 0 ? [`${name} ${count}`] : [];
  });
  return `${words}. Changed since the start: ${changes.join(", ") || "nothing"}.`;
}
