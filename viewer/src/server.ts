// Requests to the program that serves the viewer.
import type { Assets, Body, LogEvent } from "./data";
import type { RunRows, SearchReply, Source } from "./source";
import type { MoreEvents, Trial, TrialContent } from "./trial";

/** What the page of a run says of itself. */
export interface RunAddresses {
  run: string;
  /** The address below which the data of the run is. */
  data: string;
}

export class RequestFailed extends Error {}

/** Reads JSON. Raises RequestFailed with a sentence that can be shown. */
export async function getJson<T>(address: string, signal: AbortSignal | null = null): Promise<T> {
  return answerOf<T>(() => fetch(address, { headers: { accept: "application/json" }, signal }));
}

/** Sends a change. A form of another site cannot send the header. */
export async function sendJson<T>(method: "POST" | "DELETE", address: string, data?: object): Promise<T> {
  const headers = { "x-clerkship-view": "1", "content-type": "application/json" };
  return answerOf<T>(() => fetch(address, { method, headers, body: data === undefined ? null : JSON.stringify(data) }));
}

async function answerOf<T>(send: () => Promise<Response>): Promise<T> {
  let reply: Response;
  try {
    reply = await send();
  } catch {
    throw new RequestFailed("The program that serves this page does not answer.");
  }
  if (!reply.ok) throw new RequestFailed(await reasonOf(reply));
  return (await reply.json()) as T;
}

async function reasonOf(reply: Response): Promise<string> {
  try {
    const { error } = (await reply.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `The program answered ${reply.status}.`;
  }
}

interface TrialReply extends Assets {
  body: Body;
  log: LogEvent[];
  changed: string;
}

export class ServerSource implements Source {
  readonly isEmbedded = false;

  constructor(private readonly addresses: RunAddresses) {}

  /** The address of data about a trial, such as its state at a moment. */
  addressOf(name: string, trial: Trial, values: Record<string, string | number> = {}): string {
    const query = new URLSearchParams({ task: trial.row.task_name ?? trial.row.task, trial: String(trial.row.trial) });
    for (const [key, value] of Object.entries(values)) query.set(key, String(value));
    return `${this.addresses.data}/${name}?${query}`;
  }

  rows(): Promise<RunRows> {
    return getJson<RunRows>(`${this.addresses.data}/rows`);
  }

  async search(words: string, signal: AbortSignal): Promise<SearchReply> {
    return getJson<SearchReply>(`${this.addresses.data}/search?${new URLSearchParams({ q: words })}`, signal);
  }

  async open(trial: Trial): Promise<TrialContent> {
    const { body, log, changed, ...assets } = await getJson<TrialReply>(this.addressOf("trial", trial));
    return { body, log, assets, changed };
  }

  async moreEvents(trial: Trial, after: number): Promise<MoreEvents> {
    const { events, ...assets } = await getJson<Assets & { events: LogEvent[] }>(this.addressOf("events", trial, { after }));
    return { events, assets };
  }
}
