// The list of runs as the server returns it, and requests for it.
export interface RunRow {
  id: string;
  label: string;
  name: string;
  benchmark: string;
  agent: string;
  commit: string;
  started: string;
  seconds: number | null;
  status: "running" | "interrupted" | "completed" | "cancelled";
  changed: boolean;
  lineage: string;
  origin: string;
  tags: string[];
  total: number;
  done: number;
  passed: number;
  graded: number;
  rate: [number, number, number] | null;
  outcomes: Record<string, number>;
  can_open: boolean;
}

export interface RunList {
  runs: RunRow[];
  next: string | null;
  total: number;
  all: number;
  choices: Record<string, string[]>;
  command: string;
  /** The beginning of a command line and what names the store; empty if the reader has no command line. */
  program: string;
  store_option: string;
  can_change: boolean;
  damaged: string[];
}

export interface Figures {
  axes: Record<string, number>;
  cost: number | null;
}

export const prefix = document.body.dataset["prefix"] ?? "/view";

async function request<T>(path: string, options: RequestInit = {}): Promise<T> {
  const response = await fetch(`${prefix}/data/${path}`, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? `the server answered ${response.status}`);
  return body as T;
}

/** Sends a change. Its header cannot be sent by a form of another site. */
function change<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { "x-clerkship-view": "1", "content-type": "application/json" };
  return request<T>(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

export function readRuns(query: URLSearchParams): Promise<RunList> {
  return request<RunList>(`runs?${query}`);
}

export async function readFigures(ids: string[]): Promise<Record<string, Figures>> {
  const query = new URLSearchParams(ids.map((id) => ["run", id]));
  return (await request<{ figures: Record<string, Figures> }>(`figures?${query}`)).figures;
}

export function saveLabel(id: string, label: string): Promise<{ label: string }> {
  return change("POST", `runs/${encodeURIComponent(id)}/label`, { label });
}

export function deleteRun(id: string): Promise<unknown> {
  return change("DELETE", `runs/${encodeURIComponent(id)}`);
}
