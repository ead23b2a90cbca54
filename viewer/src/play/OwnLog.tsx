// What the person did, as it was logged.
import type { PlayEvent } from "./types";

const SHOWN = 200;

export function OwnLog({ events }: { events: PlayEvent[] }) {
  const last = events.slice(-SHOWN).reverse();
  return (
    <details class="card own-log">
      <summary>
        What you did <span class="muted">{events.length}</span>
      </summary>
      <p class="muted">As the log has it, the latest first. What the systems did behind is in the run, afterwards.</p>
      <ol>
        {last.map((event) => (
          <li key={event.seq}>
            <span class="muted">{`#${event.seq} ${event.at.slice(11, 19)}`}</span> <b>{event.source}</b> <code>{event.kind}</code> {gist(event)}
          </li>
        ))}
      </ol>
    </details>
  );
}

function gist(event: PlayEvent): string {
  if (event.request) return event.request;
  const text = JSON.stringify(event.payload);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
