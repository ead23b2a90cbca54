// What was said, by whom, with a thin line for what was done in between.
import { useMemo, useState } from "preact/hooks";
import type { LogEvent } from "../data";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { Between } from "./Between";
import { Bubble } from "./Bubble";
import { BROKE, isMessage, MADE_UP } from "./messages";

const MOST_SAID = 100;

/** A message, or what was done before it. */
type Said = { message: LogEvent } | { between: LogEvent[] };

function divide(log: LogEvent[]): Said[] {
  const rows: Said[] = [];
  let between: LogEvent[] = [];
  const first = log.findIndex(isMessage);
  for (const event of first < 0 ? [] : log.slice(first)) {
    if (isMessage(event)) {
      if (between.length) rows.push({ between });
      rows.push({ message: event });
      between = [];
    } else if (isTold(event)) between.push(event);
  }
  return between.length ? [...rows, { between }] : rows;
}

/** A look that changed nothing, such as one for new messages, is not told. */
function isTold({ kind, actor, payload }: LogEvent): boolean {
  if (kind === "sandbox.answered") return false;
  return actor === "agent" || actor === "scenario" || Boolean(payload.detail) || kind === BROKE || kind === MADE_UP;
}

export function ConversationSection({ trial }: { trial: OpenTrial }) {
  const rows = useMemo(() => divide(trial.log), [trial.log]);
  const [most, setMost] = useState(MOST_SAID);
  if (!rows.length) return null;
  const messages = rows.flatMap((row) => ("message" in row ? [row] : []));
  const last = messages[most - 1];
  const shown = messages.length > most && last ? rows.slice(0, rows.indexOf(last) + 1) : rows;
  const several = new Set(messages.map(({ message }) => message.source)).size > 1;
  return (
    <section>
      <h3>Conversation</h3>
      <div class="chat">
        {shown.map((row) =>
          "message" in row ? <Bubble key={row.message.seq} event={row.message} trial={trial} isNamed={several} /> : <Between key={`before ${row.between[0]!.seq}`} events={row.between} trial={trial} />,
        )}
      </div>
      {messages.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + MOST_SAID)}>
          {`Show more of ${plural(messages.length - most, "message")}`}
        </button>
      )}
    </section>
  );
}
