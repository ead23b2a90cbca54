// Calls of tools, and what their replies say.
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { isMap, type Json, type JsonMap, listOf, type Reply, type Sandbox, textOf, type Tool } from "./types";

export type CallTool = (tool: string, args: JsonMap) => Promise<Reply>;

export const CallContext = createContext<CallTool>(() => Promise.reject(new Error("no task is open")));

export function findTool(sandbox: Sandbox, operation: string): Tool | undefined {
  return sandbox.tools.find((tool) => tool.operation === operation);
}

export function parseJson(reply: Reply): Json | undefined {
  if (reply.text === undefined || !reply.media.includes("json")) return undefined;
  try {
    return JSON.parse(reply.text) as Json;
  } catch {
    return undefined;
  }
}

/** Why a sandbox refused; empty if it did not. */
export function refusalOf(reply: Reply): string {
  if (reply.problem) return reply.problem;
  if (reply.status > 0 && reply.status < 400) return "";
  const body = parseJson(reply);
  const error = isMap(body) ? body["error"] : undefined;
  const issues = isMap(body) ? listOf(body["issue"]) : [];
  const said = isMap(error)
    ? textOf(error["message"])
    : issues.map((issue) => textOf(issue["diagnostics"]) || textOf(isMap(issue["details"]) ? issue["details"]["text"] : "")).join("; ");
  return `${reply.status}: ${said || reply.text || "refused"}`;
}

export interface Use {
  /** Calls an operation of the sandbox, and returns the body as JSON; null if it was refused. */
  ask: (operation: string, args?: JsonMap) => Promise<JsonMap | null>;
  /** The same, with the whole reply. */
  send: (operation: string, args?: JsonMap) => Promise<Reply | null>;
  error: string;
  busy: boolean;
}

/** The calls of one panel: what the last one failed with, and whether one is under way. */
export function useSandbox(sandbox: Sandbox): Use {
  const call = useContext(CallContext);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (operation: string, args: JsonMap = {}): Promise<Reply | null> => {
    const tool = findTool(sandbox, operation);
    if (!tool) {
      setError(`This sandbox has no ${operation}.`);
      return null;
    }
    setBusy(true);
    setError("");
    try {
      const reply = await call(tool.name, args);
      const refusal = refusalOf(reply);
      setError(refusal);
      return refusal ? null : reply;
    } catch (failure) {
      setError((failure as Error).message);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const ask = async (operation: string, args: JsonMap = {}) => {
    const reply = await send(operation, args);
    const body = reply === null ? undefined : parseJson(reply);
    return reply === null ? null : isMap(body) ? body : {};
  };
  return { ask, send, error, busy };
}
