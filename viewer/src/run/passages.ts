// The texts of a trial that a search looks in, each with its place in words and its address.
import type { Criterion, Json, LogEvent } from "../data";
import { isMessage } from "../trial/messages";
import type { Trial } from "../trial";
import { trialMarks } from "./marks";

export interface Passage {
  where: string;
  href: string;
  text: string;
}

/** Anything that JSON can hold, also with fields left out. */
type Content = unknown;

/** Lower case, with one space for each space or line break. */
export function fold(text: string): string {
  return text.replace(/[^\S ]\s*| \s+/g, " ").toLowerCase();
}

/** Words, and phrases in quotes. */
export function parseTerms(text: string): string[] {
  return [...text.matchAll(/"([^"]+)"|[^\s"]+/g)].map((term) => fold(term[1] || term[0]).trim()).filter(Boolean);
}

/** The folded text of a trial, built when it is first searched. */
export function searchText(trial: Trial): string {
  trial.searchText ??= fold(listPassages(trial).map((passage) => passage.text).join("\n"));
  return trial.searchText;
}

export function listPassages(trial: Trial): Passage[] {
  const here = `#t${trial.number}`;
  const { body, row } = trial;
  const parts: [string, string, Content][] = [["Name and tags", here, [row.task, row.tags, trialMarks(row)]]];
  if (body) {
    const { instruction, ...rest } = body.brief?.task_item ?? {};
    const { brief } = body;
    parts.push(
      ["Reason", here, body.reason],
      ["Error", here, [body.error, body.agent_error]],
      ["Answer", here, body.answer],
      ["Instruction", here, [instruction, rest, brief?.opening, brief?.slots]],
      ["Person", here, brief?.people],
      ["Environment", here, [brief?.environment, brief?.description, brief?.file]],
      ...body.criteria.map((criterion, place): [string, string, Content] => ["Criterion", `${here}k${place}`, criterionTexts(criterion)]),
      ["Quality", here, body.quality],
      ...body.attachments.map(({ title, text }): [string, string, Content] => [title, here, text]),
      ["Requests not in the log", here, body.unauthenticated],
      ...(trial.log.length ? [] : (body.calls ?? [])).map((call): [string, string, Content] => ["Phone call", here, call.moments.map((moment) => moment.text)]),
    );
  }
  for (const event of trial.log) parts.push([passageName(event), `${here}e${event.seq}`, eventTexts(event)]);
  return parts.map(([where, href, value]) => ({ where, href, text: texts(value).join(" · ") })).filter((passage) => passage.text);
}

function criterionTexts(criterion: Criterion): Content {
  const { label, assertion, axis, input_entity_id, detail, traceback } = criterion;
  return [
    [label, assertion, axis, input_entity_id, detail, traceback],
    criterion.evidence.map((check) => [check.path, check.expected, check.actual, check.differences]),
    (criterion.pages ?? []).map((page) => [page.caption, page.marks.map((mark) => mark.text)]),
  ];
}

function eventTexts(event: LogEvent): Content {
  const { kind, line, payload, request } = event;
  if (isMessage(event)) {
    const buttons = Array.isArray(payload.buttons) ? payload.buttons : [];
    return [payload.text, payload.header, buttons.map(buttonText), payload.custom];
  }
  return [kind, line, payload, request ? [request.path, request.query, request.answer, request.body] : null];
}

function buttonText(button: Json): Content {
  return button !== null && typeof button === "object" && "title" in button ? button.title || button : button;
}

function passageName(event: LogEvent): string {
  if (!isMessage(event)) return `Event #${event.seq}, ${event.source}`;
  const who = event.actor === "agent" ? "Agent" : event.actor === "person" ? "Person" : event.actor;
  return `${who}, turn ${String(event.payload.turn)}`;
}

/** Every name and value in some data. */
function texts(value: Content, found: string[] = []): string[] {
  if (value === "" || value === null || value === undefined) return found;
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value)) for (const item of value) texts(item, found);
  else if (typeof value === "object") {
    for (const [name, item] of Object.entries(value)) {
      if (item === null || typeof item === "object") texts([name, item], found);
      else found.push(`${name} ${String(item)}`);
    }
  } else found.push(String(value));
  return found;
}
