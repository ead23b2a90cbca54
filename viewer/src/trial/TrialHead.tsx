// The verdict of a trial, its task and its tags.
import { Badge } from "../parts/Badge";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { useRun } from "../run/RunContext";
import type { Trial } from "../trial";

export function TrialHead({ trial, go }: { trial: Trial; go: (step: number) => void }) {
  const run = useRun();
  const { row, body } = trial;
  const step = (by: number, word: string, arrow: string) => (
    <button type="button" class="step" aria-label={`${word} trial`} onClick={() => go(by)}>
      {arrow}
    </button>
  );
  return (
    <div class={`head is-${row.outcome}`}>
      <p class="verdict">
        <Icon name={row.outcome} />
        <strong>{run.wordOf(row.outcome)}</strong>
        {row.score !== null && <span class="score">{`score ${row.score.toFixed(2)}`}</span>}
        <span class="steps">
          {step(-1, "Previous", "←")}
          {step(1, "Next", "→")}
        </span>
      </p>
      <h2>
        <Coded text={row.task} />
      </h2>
      {row.changed && (
        <p class="reason">
          <Coded text={`Changed in the store after it was saved: ${row.changed}. What follows is in the store now and cannot be trusted.`} />
        </p>
      )}
      {body && !row.changed && (
        <p class="reason">
          <Coded text={body.reason} />
        </p>
      )}
      <p class="tags">
        {(run.groupOf(trial).trials.length > 1 || row.trial > 1) && <Badge>{`trial ${row.trial}`}</Badge>}
        {row.flaky && <Badge title="Some trials of the task passed and some did not">flaky</Badge>}
        {row.attempt > 1 && <Badge>{`attempt ${row.attempt}`}</Badge>}
        {row.tags.map((tag) => (
          <Badge kind="tag">
            <Coded text={tag} />
          </Badge>
        ))}
      </p>
    </div>
  );
}
