// A call drawn over time, in rows. Places are percent of a whole row, also in a shorter one.
import type { Call } from "../data";
import type { OpenTrial } from "../trial";
import { StripRow } from "./StripRow";

const KEYS = [
  ["machine", "recorded voice"],
  ["human", "person"],
  ["by-agent", "agent"],
  ["cut", "cut short"],
  ["held", "on hold"],
] as const;

export function CallStrip({ trial, call, title }: { trial: OpenTrial; call: Call; title: string }) {
  return (
    <>
      <div class="strip" role="group" tabIndex={0} aria-label={`${title}, drawn over time; the transcript below has the same as a table`}>
        {call.rows.map((row) => (
          <StripRow trial={trial} call={call} row={row} />
        ))}
      </div>
      <p class="legend call-legend muted" aria-hidden="true">
        {KEYS.map(([name, word]) => (
          <span>
            <i class={`swatch ${name}`} />
            {word}
          </span>
        ))}
        {call.moments.some(({ sort }) => sort === "keys") && (
          <span>
            <kbd>1</kbd> key pressed
          </span>
        )}
      </p>
    </>
  );
}
