// The JSON that the program writes for a page: see report/html.py, report/trial_card.py and report/calls.py.

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type JsonMap = { [name: string]: Json };

/** What a page says of a run, without its trials. */
export interface RunData {
  run: string;
  /** The beginning of a command line, such as `clerkship`; empty if the reader has none for the store. */
  command: string;
  /** What a command needs to name the store. */
  store_option?: string;
  /** The word and the meaning of each outcome, the most urgent first. */
  outcomes: Record<string, [string, string]>;
}

/** What a report has embedded. */
export interface ReportData extends RunData, Assets {
  trials: TrialRow[];
}

/** Pictures of fax pages and pages of websites, each by its hash. */
export interface Assets {
  pictures: Record<string, Picture>;
  pictures_left_out: number;
  pictures_redacted: number;
  pictures_problem: string;
  site_pages?: Record<string, string>;
  site_styles?: Record<string, string>;
}

export interface Picture {
  png: string;
  width: number;
  height: number;
}

/** The breakdowns of the overview: a trial has the numbers of the rows in which it is counted. */
export const FACETS = ["cause", "criterion", "check", "axis", "interface", "tag", "flaky"] as const;
export type Facet = (typeof FACETS)[number];

/** A trial in the list. A report also has the body and the log of those that fit into it. */
export interface TrialRow extends Partial<Record<Facet, number[]>> {
  task: string;
  /** The whole name of the task, if the one that is shown is cut. */
  task_name?: string;
  trial: number;
  attempt: number;
  outcome: string;
  changed?: string;
  timed_out: boolean;
  crashed: boolean;
  score: number | null;
  failed_criteria: number;
  tags: string[];
  template?: string;
  seconds?: number;
  cost?: number;
  body?: Body;
  log?: LogEvent[];
}

/** The verdict with its reasons. */
export interface Body {
  status: string;
  verdict: string | null;
  reason: string;
  ending: string;
  axes: { name: string; score: number; weight: number }[];
  criteria: Criterion[];
  criteria_count: string;
  marks: EventMark[];
  error: string;
  agent_error: string;
  answer: Json;
  head: string;
  events: number;
  zone: { minutes: number; name: string };
  brief: Brief | null;
  attachments: { title: string; text: string }[];
  unauthenticated?: string[];
  facts: JsonMap;
  quality?: Quality;
  models?: string;
  undecided?: string;
  missed?: boolean;
  notes?: string[];
  calls?: Call[];
  calls_left_out?: number;
  voicemails?: Voicemail[];
  voicemails_left_out?: number;
}

/** What the evidence of a failed criterion says of an event. */
export interface EventMark {
  seq: number;
  text: string;
  passed: boolean;
}

export interface Brief {
  task_item: JsonMap;
  file: string;
  environment: string;
  description: string;
  sandboxes: Record<string, string>;
  people: { name: string; sandbox: string | null; reached: string | null; variant: string; context: string }[];
  opening: string | null;
  slots: JsonMap;
  compat: string | null;
}

export interface Quality {
  ratings: { name: string; score: number | null; passed: boolean | null; reason: string }[];
  summary: string;
  error: string;
  model: string;
}

export interface Criterion {
  label: string;
  assertion: string;
  status: string;
  passed: boolean;
  score: number;
  weight: number;
  axis: string | null;
  gate: boolean;
  monitor?: boolean;
  implied: boolean;
  input_entity_id: string | null;
  detail: string;
  traceback: string;
  evidence: Check[];
  evidence_left_out: number;
  pages?: CitedPage[];
  pages_left_out?: number;
}

/** One row of evidence. */
export interface Check {
  path: string;
  expected: Json;
  actual: Json;
  passed: boolean;
  seq: number | null;
  differences?: { path: string; expected: Json; actual: Json }[];
  differences_left_out?: number;
}

export interface CitedPage {
  source: string;
  hash: string;
  caption: string;
  marks: PageMark[];
  marks_left_out: number;
}

export type MarkSort = "found" | "forbidden" | "missing";

/** A value that a criterion looked for on a page; a box is left, top, width and height in dots. */
export interface PageMark {
  text: string;
  sort: MarkSort;
  boxes: [number, number, number, number][];
}

/** One event of the log. */
export interface LogEvent {
  seq: number;
  at: string;
  source: string;
  kind: string;
  actor: string;
  cause: number | null;
  payload: JsonMap;
  by_agent?: boolean;
  /** The line that describes its request. */
  line?: string;
  request?: LoggedRequest;
  blobs?: Record<string, { sha256: string; size: number; form: string }>;
  fax?: FaxSummary;
  /** The hash of a page of a website as it was sent. */
  page?: string;
}

export interface LoggedRequest {
  over?: string;
  method: string;
  path: string;
  query?: string;
  status?: number;
  answer?: string;
  body?: string;
  size?: number;
}

export interface FaxSummary {
  arrived: boolean;
  sender: string;
  to: string;
  documents: string[];
  pages: { hash: string; document: string; number: number }[];
  total: number;
}

export interface Call {
  id: string;
  source: string;
  seq: number;
  direction: string;
  number: string;
  name: string;
  at: string;
  length: number;
  holds: [number, number][];
  ending: string;
  is_completed: boolean;
  measures: [string, string][];
  moments: CallMoment[];
  moments_left_out: number;
  rows: StripRow[];
  findings: Finding[];
}

export interface CallMoment {
  sort: string;
  seq: number;
  start: string;
  end: string;
  speaker: string;
  is_by_agent: boolean;
  text: string;
  rest?: string;
  note?: string;
  is_cut?: boolean;
  marks?: { finding: number; passed: boolean }[];
}

/** A place in the drawing of a call, in percent of a row. */
export interface Placed {
  x: number;
  width?: number;
  level?: number;
}

export interface StripBar extends Placed {
  at: number;
  width: number;
  goes_on?: boolean;
  began?: boolean;
}

export interface StripLabel extends Placed {
  level: number;
  text: string;
  moments: number[];
  tick: number;
}

/** One row of the drawing of a call. */
export interface StripRow {
  width: number;
  bars: StripBar[];
  holds: (Placed & { at: number })[];
  nodes: StripLabel[];
  labels: StripLabel[];
  ticks: (Placed & { text: string })[];
  gaps: (Placed & { text: string })[];
}

/** What a criterion found in a call. */
export interface Finding {
  criterion: number;
  label: string;
  passed: boolean;
  places: { seq: number; passed: boolean; text: string; is_call: boolean }[];
  places_left_out: number;
}

export interface Voicemail {
  source: string;
  seq: number;
  mailbox: string;
  from: string;
  name: string;
  at: string;
  seconds: number;
  text: string;
  before_beep: string;
  call: string;
}
