// Requests to the program that waits for the person.
export class RequestFailed extends Error {}

export async function getJson<T>(address: string): Promise<T> {
  return answerOf<T>(() => fetch(address, { headers: { accept: "application/json" } }));
}

/** Sends a change. A form of another site cannot send the header. */
export async function sendJson<T>(address: string, data: object): Promise<T> {
  const headers = { "x-clerkship-view": "1", "content-type": "application/json" };
  return answerOf<T>(() => fetch(address, { method: "POST", headers, body: JSON.stringify(data) }));
}

async function answerOf<T>(send: () => Promise<Response>): Promise<T> {
  let reply: Response;
  try {
    reply = await send();
  } catch {
    throw new RequestFailed("The command that serves this page does not answer.");
  }
  if (reply.ok) return (await reply.json()) as T;
  const reason = await reply.json().then(
    (body: { error?: { message?: string } }) => body.error?.message,
    () => undefined,
  );
  throw new RequestFailed(reason ?? `The program answered ${reply.status}.`);
}
