// Which events are messages of a conversation, and who is at their other end.
import type { LogEvent } from "../data";
import { isMap } from "../parts/values";

export const BROKE = "person.broke_contract";
export const MADE_UP = "person.made_up_facts";

export function isMessage(event: Pick<LogEvent, "kind" | "payload">): boolean {
  return /\.message\.(sent|arrived)$/.test(event.kind) && "turn" in event.payload;
}

/** Channel and address of the person to whom a message was sent, or from whom it came; null on a chat. */
export interface Reached {
  channel: string;
  addresses: string[];
  subject: string;
}

export function reached(event: LogEvent): Reached | null {
  const { header } = event.payload;
  if (!isMap(header)) return null;
  const texts = (name: string) => (Array.isArray(header[name]) ? header[name].map(String) : []);
  const addresses = event.kind.endsWith(".sent") ? [...texts("to"), ...texts("cc"), ...texts("bcc")] : [String(header.sender)];
  return { channel: String(header.channel), addresses, subject: header.subject ? String(header.subject) : "" };
}
