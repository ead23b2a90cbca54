// Thin lines for what was done between two messages.
import type { LogEvent } from "../data";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { EventLink } from "./EventLink";
import { Summary } from "./Gist";
import { troubleOf } from "./trouble";

const MOST_NOTES = 6;

export function Between({ events, trial }: { events: LogEvent[]; trial: OpenTrial }) {
  const shown = events.length > MOST_NOTES ? events.slice(0, MOST_NOTES - 1) : events;
  const rest = events.length - shown.length;
  return (
    <>
      {shown.map((event) => {
        const trouble = troubleOf(event);
        return (
          <p class={`note ${trouble ? "trouble" : ""}`}>
            {trouble && <Icon name={trouble.icon} />}
            <b>{event.source}</b>
            {` ${event.kind} `}
            {event.line ? `${event.line} ` : <Summary payload={event.payload} />}
            {event.payload.value === null && (
              <>
                <span class="field">value </span>
                {"null  "}
              </>
            )}
            <EventLink trial={trial} seq={event.seq} />
          </p>
        );
      })}
      {rest > 0 && (
        <p class="note">
          {`and ${plural(rest, "more event")} to `}
          <EventLink trial={trial} seq={events.at(-1)!.seq} />
        </p>
      )}
    </>
  );
}
