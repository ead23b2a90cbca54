// The JSON of `/view/data/runs/{run}/state`: the sandboxes of a trial after one event.

export type Change = "created" | "updated" | "deleted";

export interface FieldDifference {
  path: string;
  before: unknown;
  after: unknown;
}

export interface StateRecord {
  key: string;
  /** What it is listed under: a type of resource, a folder, inbox or outbox. */
  group: string;
  title: string;
  facts: Record<string, unknown>;
  /** How it differs from the start of the trial; null if it does not. */
  change: Change | null;
  /** The event that changed it last, if that is known. */
  cause_seq: number | null;
  /** Only of updated records. */
  differences?: FieldDifference[];
  differences_left_out?: number;
}

export interface SandboxState {
  kind: string;
  counts: Record<Change | "unchanged", number>;
  /** How many records are not in the answer. */
  left_out: number;
  records: StateRecord[];
}

export interface MomentState {
  seq: number;
  /** The simulated time; null in a trial without events. */
  at: string | null;
  /** The number of the last event. */
  total: number;
  sandboxes: Record<string, SandboxState>;
}

/** One record in full, at the start and at the moment; null where it does not exist. */
export interface RecordData {
  before: unknown;
  after: unknown;
}

export interface MomentEvent {
  seq: number;
  at: string;
  source: string;
  kind: string;
  /** The event in one line. */
  line: string;
}

export type LoadState = (seq: number, signal: AbortSignal) => Promise<MomentState>;
export type LoadRecord = (seq: number, sandbox: string, key: string) => Promise<RecordData>;
