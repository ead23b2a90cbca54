// The verdict, with what was checked.
import { Icon } from "../parts/Icon";
import type { CriterionResult, Result } from "./types";

function outcomeOf(criterion: CriterionResult): string {
  if (criterion.status === "skipped") return "skipped";
  return criterion.status === "error" ? "errored" : criterion.passed ? "pass" : criterion.score > 0 ? "partial" : "fail";
}

export function Verdict({ result, prefix }: { result: Result; prefix: string }) {
  const written = result.criteria.filter((each) => !each.monitor);
  const monitors = result.criteria.filter((each) => each.monitor);
  const failed = monitors.filter((each) => outcomeOf(each) !== "pass" && outcomeOf(each) !== "skipped");
  const shown = [...written, ...failed];
  return (
    <section class={`card result is-${result.outcome}`} aria-label="Verdict" role="status">
      <p class="verdict">
        <Icon name={result.outcome} />
        <strong>{result.word}</strong>
        {result.score !== null && <span class="score">{`score ${Math.round(result.score * 100)} %`}</span>}
      </p>
      <p>{`${result.error || result.ending}.`}</p>
      <ul class="checked">
        {shown.map((each, place) => (
          <li key={place} class={`is-${outcomeOf(each)}`}>
            <Icon name={outcomeOf(each)} />
            <div>
              <strong>{each.label}</strong> {each.gate && <span class="badge gate">gate</span>}
              <p class="muted">{each.detail}</p>
            </div>
          </li>
        ))}
      </ul>
      {monitors.length > failed.length && <p class="muted">{`${monitors.length - failed.length} monitors found nothing.`}</p>}
      <p>
        <a class="button primary" href={`${prefix}/runs/${encodeURIComponent(result.run)}`}>
          See the run
        </a>{" "}
        <span class="muted">or</span> <code class="copy">{`clerkship show ${result.run}`}</code>
      </p>
    </section>
  );
}
