// One trial: the verdict and why, what the agent was told, the evidence, what was said, what happened.
import { memo } from "../parts/memo";
import type { Aim, RunModel } from "../run/model";
import { Hits } from "../run/Hits";
import { isOpen, type Trial } from "../trial";
import { TrialBody } from "./TrialBody";
import { TrialHead } from "./TrialHead";

interface TrialViewProps {
  run: RunModel;
  trial: Trial;
  aim: Aim | null;
  /** Goes to the next trial of the list, or to the one before. */
  go: (step: number) => void;
  /** Called after something of the trial was drawn. */
  drawn: () => void;
}

/** Most of what is drawn stays while the list changes. */
const Body = memo(TrialBody);

export function TrialView({ run, trial, aim, go, drawn }: TrialViewProps) {
  return (
    <>
      <TrialHead trial={trial} go={go} />
      <Hits run={run} trial={trial} />
      {isOpen(trial) ? <Body key={trial.number} trial={trial} content={trial.content} aim={aim} drawn={drawn} /> : <NotHere run={run} trial={trial} />}
    </>
  );
}

function NotHere({ run, trial }: { run: RunModel; trial: Trial }) {
  if (trial.problem) {
    return (
      <p class="left-out" role="alert">
        {`This trial could not be loaded: ${trial.problem} `}
        <button type="button" class="quiet" onClick={() => run.select(trial, run.aim)}>
          Try again
        </button>
      </p>
    );
  }
  if (!run.source.isEmbedded) {
    return (
      <p class="loading muted" role="status">
        Loading the trial…
      </p>
    );
  }
  return (
    <p class="left-out">
      {"Left out of this page to keep it small; "}
      <code>{`${run.command} show ${run.run}`}</code>
      {" prints it."}
    </p>
  );
}
