// A sentence that names events as #12 and turns as [T2]; each that is on this page becomes a link to it.
import type { LogEvent } from "../data";
import { Coded } from "../parts/Coded";
import type { Trial } from "../trial";
import { EventLink } from "./EventLink";
import { isMessage } from "./messages";

export function Linked({ text, trial }: { text: string; trial: Trial }) {
  return <Coded text={text} plain={(plain) => linkPlain(plain, trial)} />;
}

function linkPlain(text: string, trial: Trial) {
  return text.split(/(#\d+|\[T\d+(?:\.\d+)?\])/).map((part) => {
    const turn = /^\[T(\d+)(?:\.\d+)?\]$/.exec(part);
    const seq = turn ? turnStart(trial, Number(turn[1])) : /^#\d+$/.test(part) ? Number(part.slice(1)) : null;
    return seq !== null && trial.bySeq.has(seq) ? <EventLink trial={trial} seq={seq} text={part} /> : part;
  });
}

const turns = new WeakMap<LogEvent[], LogEvent[]>();

/** A turn begins with a line that the agent did not write. */
function turnStart(trial: Trial, turn: number): number | null {
  let begun = turns.get(trial.log);
  if (!begun) {
    begun = trial.log.filter((event) => event.kind === "voice.far_end.spoke" || isFromOther(event));
    turns.set(trial.log, begun);
  }
  return begun[turn - 1]?.seq ?? null;
}

function isFromOther(event: LogEvent): boolean {
  return isMessage(event) && event.actor !== "agent" && !(event.payload.header && event.kind.endsWith(".sent"));
}
