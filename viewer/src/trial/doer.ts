import type { LogEvent } from "../data";

/** Who did what an event tells. What a sandbox does within a request of the agent is logged under the agent, and is not its own doing. */
export function doerOf({ actor, by_agent, source }: LogEvent): string {
  if (actor !== "agent" || by_agent) return actor;
  return source === "run" ? "run" : `${source}, within a request of the agent`;
}
