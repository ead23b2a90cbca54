// One message of a conversation.
import type { Json, LogEvent } from "../data";
import { Coded } from "../parts/Coded";
import { Time } from "../parts/Time";
import { isMap, oneLine } from "../parts/values";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { CitedBy } from "./CitedBy";
import { EventLink } from "./EventLink";
import { reached, type Reached } from "./messages";

interface BubbleProps {
  event: LogEvent;
  trial: OpenTrial;
  /** Whether the sandbox is named, because people talk in several. */
  isNamed: boolean;
}

export function Bubble({ event, trial, isNamed }: BubbleProps) {
  const place = reached(event);
  const isAgent = event.actor === "agent" || (place !== null && event.kind.endsWith(".sent"));
  const who = event.actor === "agent" ? "Agent" : event.actor === "person" ? speaker(trial, event.source, place) : event.actor;
  const { buttons, custom, turn } = event.payload;
  return (
    <div class={`said ${isAgent ? "by-agent" : "by-person"}`}>
      <p class="who">
        <b>{who}</b>
        {` turn ${String(turn)}`}
        {isNamed && ` on ${event.source}`}
        {place && ` · ${place.channel} ${isAgent ? "to" : "from"} ${place.addresses.join(", ")}`}
        {place?.subject && ` · ${place.subject}`}
        {" · "}
        <Time zone={trial.body.zone} at={event.at} />
        {" · "}
        <EventLink trial={trial} seq={event.seq} />
      </p>
      <div class="bubble">
        <Wording event={event} />
        <Choices buttons={Array.isArray(buttons) ? buttons : []} />
        {custom && <code class="custom">{oneLine(JSON.stringify(custom), 300)}</code>}
      </div>
      <CitedBy trial={trial} seq={event.seq} />
    </div>
  );
}

function Choices({ buttons }: { buttons: Json[] }) {
  if (!buttons.length) return null;
  return (
    <div class="choices">
      {buttons.map((button) => (
        <span class="choice">
          <Coded text={oneLine((isMap(button) && button.title) || button, 60)} />
        </span>
      ))}
    </div>
  );
}

/** A text too long for the log is stored outside it, and may not be in this page. */
function Wording({ event: { blobs, payload } }: { event: LogEvent }) {
  const kept = blobs?.text;
  if (typeof payload.text === "string" && (payload.text || !payload.custom)) return <Coded text={payload.text} />;
  if (kept === undefined && payload.custom) return null;
  return <i>{kept ? `${plural(kept.size, "byte")} of text, stored outside the log` : "(no text)"}</i>;
}

/** The name of the person who talks in a sandbox, or from an address. */
function speaker(trial: OpenTrial, source: string, from: Reached | null): string {
  const session = trial.log.find((event) => event.source === source && event.payload.person && begins(event, from));
  if (session) return String(session.payload.person);
  if (from) return from.addresses[0] ?? "";
  const people = trial.body.brief?.people ?? [];
  return people.length === 1 ? people[0]!.name : "the person";
}

function begins({ kind, payload }: LogEvent, from: Reached | null): boolean {
  if (!from) return kind.endsWith(".session.started");
  const address = String(payload.address).toLowerCase();
  return kind.endsWith(".conversation.started") && payload.channel === from.channel && address === from.addresses[0]?.toLowerCase();
}
