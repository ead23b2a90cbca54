// What an event says, in a line.
import type { ComponentChildren } from "preact";
import type { Json, JsonMap, LogEvent } from "../data";
import { Coded, plainText } from "../parts/Coded";
import { oneLine } from "../parts/values";
import { plural } from "../parts/words";

export const PAGE_STORED = "fax.page.stored";
const TELLING = ["text", "path", "step", "fault", "operation", "status", "code", "reason", "name", "value", "answer", "error", "details"];
const DULL = ["data", "turn", "seed"];
const MOST_FIELDS = 4;

/** One field of a gist. */
interface Field {
  name: string;
  value: string;
}

/** The telling fields of a payload first; empty and nested ones are for who opens it. */
function listFields(payload: JsonMap): Field[] {
  const names = Object.keys(payload).filter((name) => !DULL.includes(name) && isTelling(name, payload[name] ?? null));
  names.sort((a, b) => rank(a) - rank(b));
  return names.slice(0, MOST_FIELDS).map((name) => ({ name, value: oneLine(payload[name] ?? null, 160) }));
}

function isTelling(name: string, value: Json): boolean {
  if (value === null || value === "") return false;
  return typeof value !== "object" || (TELLING.includes(name) && Object.keys(value).length > 0);
}

function rank(name: string): number {
  const place = TELLING.indexOf(name);
  return place < 0 ? TELLING.length : place;
}

/** The fields of an event about a fax or one of its pages; null for other events. A field may have no name. */
function faxFields({ fax, kind, payload }: LogEvent): Field[] | null {
  if (kind === PAGE_STORED) {
    const hash = oneLine(payload.hash ?? "", 12);
    return [{ name: "", value: `${String(payload.width)} × ${String(payload.height)} dots, ${String(payload.resolution)}, SHA-256 ${hash}` }];
  }
  if (!fax) return null;
  const names = fax.documents.filter(Boolean).join(", ");
  const fields = [
    { name: fax.arrived ? "from" : "to", value: fax.arrived ? fax.sender : fax.to },
    { name: "", value: plural(fax.total, "page") },
  ];
  return names ? [...fields, { name: "documents", value: oneLine(names, 120) }] : fields;
}

/** What a payload says, for a place that has no line. */
export function Summary({ payload }: { payload: JsonMap }) {
  return <Fields fields={listFields(payload)} />;
}

export function Gist({ event }: { event: LogEvent }) {
  const fax = faxFields(event);
  if (fax) {
    return (
      <>
        {fax.map(({ name, value }) => (
          <>
            {name && <span class="field">{`${name} `}</span>}
            {`${value}  `}
          </>
        ))}
      </>
    );
  }
  return event.line ? <>{event.line}</> : <Fields fields={listFields(event.payload)} />;
}

function Fields({ fields }: { fields: Field[] }): ComponentChildren {
  return fields.map(({ name, value }) =>
    name === "text" ? (
      <Coded text={`“${value}”  `} />
    ) : (
      <>
        <span class="field">{`${name} `}</span>
        <Coded text={`${value}  `} />
      </>
    ),
  );
}

/** The same for an attribute, cut to one line. */
export function gistText(event: LogEvent): string {
  const fields = faxFields(event) ?? (event.line ? null : listFields(event.payload));
  const words = fields ? fields.map(({ name, value }) => (name === "text" ? `“${value}”` : [name, value].filter(Boolean).join(" "))).join("  ") : (event.line ?? "");
  return oneLine(plainText(words), 160);
}
