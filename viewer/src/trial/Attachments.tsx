// Texts beside the log. Tracebacks and stacks are open; the agent's output is folded.
import { capitalized } from "../parts/words";
import type { OpenTrial } from "../trial";

export function Attachments({ trial }: { trial: OpenTrial }) {
  return (
    <>
      {trial.body.attachments.map(({ title, text }) => (
        <details class="attachment" open={!title.includes("print") && !title.includes("standard error")}>
          <summary>{capitalized(title)}</summary>
          <pre tabIndex={0}>{text}</pre>
        </details>
      ))}
    </>
  );
}
