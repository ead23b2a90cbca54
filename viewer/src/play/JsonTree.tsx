// JSON as a tree: names and values, each only ever as text. What lies deep is folded.
import { isMap, type Json } from "./types";

const OPEN_LEVELS = 2;
const LONG_TEXT = 2000;

export function JsonTree({ value, level = 0 }: { value: Json; level?: number }) {
  if (!isMap(value) && !Array.isArray(value)) return <span class="leaf">{leafText(value)}</span>;
  const entries = Array.isArray(value) ? value.map((each, place): [string, Json] => [String(place + 1), each]) : Object.entries(value);
  if (!entries.length) return <span class="leaf muted">{Array.isArray(value) ? "none" : "empty"}</span>;
  const file = isMap(value) ? fileOf(value) : null;
  return (
    <ul class="tree">
      {file && (
        <li>
          <SaveLink {...file} />
        </li>
      )}
      {entries.map(([name, each]) => (
        <li key={name}>
          <Branch name={name} value={each} level={level} />
        </li>
      ))}
    </ul>
  );
}

function Branch({ name, value, level }: { name: string; value: Json; level: number }) {
  if (!isMap(value) && !Array.isArray(value)) {
    return (
      <>
        <span class="name">{name}</span> <span class="leaf">{leafText(value)}</span>
      </>
    );
  }
  return (
    <details open={level < OPEN_LEVELS}>
      <summary>
        <span class="name">{name}</span> <span class="muted">{gist(value)}</span>
      </summary>
      <JsonTree value={value} level={level + 1} />
    </details>
  );
}

function leafText(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)}… (${text.length.toLocaleString("en")} characters)` : text;
}

/** A few words of a folded value. */
function gist(value: Json): string {
  if (Array.isArray(value)) return `${value.length}`;
  if (!isMap(value)) return "";
  const words = ["text", "display", "value", "reference", "code", "name", "id"].map((key) => value[key]);
  const word = words.find((each) => typeof each === "string");
  return typeof word === "string" ? word.slice(0, 80) : "";
}

interface File {
  data: string;
  media: string;
  name: string;
}

/** The file that an attachment of FHIR has in base64. */
function fileOf(value: { [key: string]: Json }): File | null {
  const { data, contentType, title } = value;
  if (typeof data !== "string" || typeof contentType !== "string") return null;
  return { data, media: contentType, name: typeof title === "string" ? title : "file" };
}

/** A link that saves a file; the browser never opens it. */
export function SaveLink({ data, media, name }: File) {
  const size = Math.floor((data.length * 3) / 4);
  return (
    <a class="save" href={`data:application/octet-stream;base64,${data}`} download={name}>
      Save {name} <span class="muted">{`(${media}, ${size.toLocaleString("en")} bytes)`}</span>
    </a>
  );
}
