// Buttons that say whether a judge is right, for its calibration.
import { useState } from "preact/hooks";
import { Command } from "../parts/Command";
import { useRun } from "../run/RunContext";
import { sendJson, ServerSource } from "../server";
import type { JudgementProps } from "../slots";

interface Saved {
  file: string;
  passed: boolean;
}

export function Judgement({ source, trial, criterion }: JudgementProps) {
  const run = useRun();
  const [note, setNote] = useState("");
  const [saved, setSaved] = useState<Saved | null>(null);
  const [problem, setProblem] = useState("");
  if (criterion.assertion !== "judged" || !run.canChange) return null;
  const task = trial.row.task_name ?? trial.row.task;
  const save = async (isRight: boolean) => {
    const address = (source as ServerSource).addressOf("judgement", trial);
    try {
      setSaved(await sendJson<Saved>("POST", address, { task, trial: trial.row.trial, criterion: criterion.label, right: isRight, note }));
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const word = saved && (saved.passed === criterion.passed ? "right" : "wrong");
  return (
    <div class="judgement" role="group" aria-label="Is the judge right?">
      <span>Is the judge right?</span>
      <button type="button" class="quiet" aria-pressed={word === "right"} onClick={() => save(true)}>
        Right
      </button>
      <button type="button" class="quiet" aria-pressed={word === "wrong"} onClick={() => save(false)}>
        Wrong
      </button>
      <input type="text" value={note} placeholder="Reason, for later readers" aria-label="Reason, for later readers" onInput={(event) => setNote(event.currentTarget.value)} />
      <p role="status" class="muted">
        {saved && `Labelled ${word} in ${saved.file}. `}
        {saved && <Command line={run.commandLine("judge label", task, criterion.label, `--${word}`, "--trial", String(trial.row.trial), ...(note ? ["--note", note] : []))} />}
      </p>
      {problem && <p role="alert">{problem}</p>}
    </div>
  );
}
