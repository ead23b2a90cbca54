// Requests that are kept beside the log: anyone who knows the address can send them.
import type { OpenTrial } from "../trial";

export function UnauthenticatedSection({ trial }: { trial: OpenTrial }) {
  const [head, ...lines] = trial.body.unauthenticated ?? [];
  if (!head) return null;
  return (
    <section>
      <h3>Requests not in the log</h3>
      <p class="muted">{head}</p>
      <ul class="plain">
        {lines.map((line) => (
          <li>
            <code>{line}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
