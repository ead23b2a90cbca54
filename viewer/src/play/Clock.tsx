// The simulated clock, which stands still until somebody acts or waits.
import { useContext, useState } from "preact/hooks";
import { CallContext } from "./calls";
import type { JsonMap } from "./types";

const WAITS = ["1m", "10m", "1h"];

export function Clock({ now, disabled }: { now: string | null; disabled: boolean }) {
  const call = useContext(CallContext);
  const [said, setSaid] = useState("");
  const [duration, setDuration] = useState("");
  const wait = async (args: JsonMap) => {
    try {
      const reply = await call("wait", args);
      setSaid(reply.text ?? "");
    } catch (error) {
      setSaid((error as Error).message);
    }
  };
  return (
    <section class="clock" aria-label="Clock">
      <p>
        <span class="muted">It is</span> <time dateTime={now ?? ""}>{now ? readable(now) : "…"}</time>
      </p>
      <div class="actions">
        {WAITS.map((each) => (
          <button key={each} type="button" disabled={disabled} onClick={() => wait({ duration: each })}>
            {`Wait ${each}`}
          </button>
        ))}
        <button type="button" disabled={disabled} onClick={() => wait({})}>
          Wait for the next thing
        </button>
      </div>
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          if (duration.trim()) void wait({ duration: duration.trim() });
        }}
      >
        <label class="seconds">
          <span class="hidden">Another duration</span>
          <input type="text" size={6} placeholder="2d" value={duration} onInput={(event) => setDuration(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={disabled || !duration.trim()}>
          Wait
        </button>
        <span class="muted" role="status">
          {said}
        </span>
      </form>
    </section>
  );
}

/** `2026-03-02T09:10:00-05:00` as Mon 2 Mar 2026, 09:10:00, in the zone that it names. */
export function readable(at: string): string {
  const [day = "", rest = ""] = at.split("T");
  const date = new Date(`${day}T00:00:00Z`);
  const words = date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  return `${words}, ${rest.slice(0, 8)}`;
}
