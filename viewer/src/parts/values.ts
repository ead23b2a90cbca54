// Values as people read them: text as text, anything else as JSON.
import type { Json, JsonMap } from "../data";

export function isMap(value: Json | undefined): value is JsonMap {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Quotes stand only where leaving them out would make a string look like something else. */
export function plainValue(value: Json | undefined): string {
  if (typeof value !== "string") return pretty(value);
  const ambiguous = value === "" || value !== value.trim() || /^(-?[\d.]+|true|false|null|[[{"].*)$/s.test(value);
  return ambiguous && value.length < 400 ? JSON.stringify(value) : value;
}

export function pretty(value: Json | undefined): string {
  const line = JSON.stringify(value);
  return line === undefined || line.length <= 60 ? String(line) : JSON.stringify(value, null, 2);
}

export function oneLine(value: Json, limit: number): string {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ").trim();
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
