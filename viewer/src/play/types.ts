// What the program says of a task that a person does.
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonMap = { [key: string]: Json };

/** The part of JSON Schema that tools use. */
export interface Schema {
  type?: string | string[];
  enum?: Json[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: Json;
}

export interface Tool {
  name: string;
  operation: string;
  description: string;
  parameters: Schema;
  reads: boolean;
}

export interface Sandbox {
  name: string;
  kind: string;
  tools: Tool[];
  connection: JsonMap;
}

export interface Tools {
  sandboxes: Sandbox[];
  /** The events that an agent may report, as tools. */
  reports: Tool[];
}

export interface Question {
  type: "task" | "turn";
  task_item: Json;
  text?: string;
  turn?: number;
  sandbox?: string;
  channel?: string | null;
  address?: string | null;
  subject?: string | null;
  slots?: JsonMap;
}

export interface PlayEvent {
  seq: number;
  at: string;
  source: string;
  kind: string;
  actor: string;
  request: string;
  payload: JsonMap;
}

export interface CriterionResult {
  label: string;
  assertion: string;
  status: string;
  passed: boolean;
  score: number;
  weight: number;
  gate: boolean;
  axis: string | null;
  detail: string;
  monitor?: boolean;
}

export interface Result {
  run: string;
  outcome: string;
  word: string;
  ending: string;
  score: number | null;
  error: string;
  criteria: CriterionResult[];
}

export interface State {
  state: "starting" | "task" | "turn" | "busy" | "over";
  task: string;
  command: string;
  time_limit: number;
  seconds_left: number;
  now: string | null;
  question: Question | null;
  events: PlayEvent[];
  result: Result | null;
}

/** What a sandbox replied: a body as text, or in base64. */
export interface Reply {
  status: number;
  media: string;
  text?: string;
  data?: string;
  problem?: string;
}

export function isMap(value: Json | undefined): value is JsonMap {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

export function textOf(value: Json | undefined): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

export function listOf(value: Json | undefined): JsonMap[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}
