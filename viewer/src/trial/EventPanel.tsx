// What an event holds: who did it, what led to what, the request and the reply, and the payload.
import type { ComponentChildren } from "preact";
import type { Json, JsonMap, LogEvent } from "../data";
import { moment } from "../parts/times";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { doerOf } from "./doer";
import { EventLink } from "./EventLink";

const MOST_EFFECTS = 200;

export function EventPanel({ trial, event }: { trial: OpenTrial; event: LogEvent }) {
  const payload = breakSegments(event.payload);
  const texts = Object.entries(payload).filter((entry): entry is [string, string] => hasLines(entry[1]));
  const rest = Object.fromEntries(Object.entries(payload).filter(([, value]) => !hasLines(value)));
  return (
    <div class="panel">
      <dl>
        {listFacts(trial, event).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      <pre tabIndex={0}>{JSON.stringify(rest, null, 2)}</pre>
      {texts.map(([name, text]) => (
        <>
          <p class="muted">{name}</p>
          <pre tabIndex={0}>{inLines(text)}</pre>
        </>
      ))}
    </div>
  );
}

function listFacts(trial: OpenTrial, event: LogEvent): [string, ComponentChildren][] {
  const facts: [string, ComponentChildren][] = [
    ["By", doerOf(event)],
    ["At", `${moment(trial.body.zone, event.at)}, in the log ${event.at} (simulated)`],
  ];
  if (event.cause) facts.push(["Because of", <EventLink trial={trial} seq={event.cause} />]);
  const effects = trial.effectsOf(event.seq);
  if (effects.length) facts.push(["Led to", <Effects trial={trial} effects={effects} />]);
  facts.push(...listRequestFacts(event));
  for (const [field, kept] of Object.entries(event.blobs ?? {})) facts.push([field, `${plural(kept.size, "byte")} stored outside the log, SHA-256 ${kept.sha256}`]);
  return facts;
}

function Effects({ trial, effects }: { trial: OpenTrial; effects: LogEvent[] }) {
  const left = effects.length - MOST_EFFECTS;
  return (
    <>
      {effects.slice(0, MOST_EFFECTS).map(({ seq }) => (
        <>
          <EventLink trial={trial} seq={seq} />{" "}
        </>
      ))}
      {left > 0 && `and ${plural(left, "more event")}`}
    </>
  );
}

/** The body stands here only where the payload does not hold it. */
function listRequestFacts({ request, blobs }: LogEvent): [string, ComponentChildren][] {
  if (!request) return [];
  const target = request.path + (request.query ? `?${request.query}` : "");
  const facts: [string, ComponentChildren][] = [
    ["Request", `${request.over ? `${request.over} ` : ""}${request.method} ${target}`],
    ["Answer", [request.status || "no answer", request.answer].filter(Boolean).join(" ")],
  ];
  if (!request.size) return facts;
  const kept = blobs?.["request.body"]?.size ?? new TextEncoder().encode(request.body ?? "").length;
  const note = kept === request.size ? "" : kept === 0 ? ", not kept" : `, cut to ${kept}`;
  const body = (
    <>
      {request.body && <pre tabIndex={0}>{inLines(request.body)}</pre>}
      {`${plural(request.size, "byte")}${note}`}
    </>
  );
  return [...facts, ["Body", body]];
}

/** X12 is usually sent without line breaks: each segment is shown on a line of its own. */
function breakSegments(payload: JsonMap): JsonMap {
  const { edi, delimiters } = payload;
  if (typeof edi !== "string" || typeof delimiters !== "string") return payload;
  const terminator = delimiters.slice(-1);
  return { ...payload, edi: edi.split(terminator).join(`${terminator}\n`).replace(/\s*[\r\n]+/g, "\n").trim() };
}

/** A message of HL7, a letter, a table: what has lines is shown in them. */
function hasLines(value: Json): value is string {
  return typeof value === "string" && /[\r\n]+./.test(value);
}

function inLines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
