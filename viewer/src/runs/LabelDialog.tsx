// Gives a run a label, or takes it away.
import { useState } from "preact/hooks";
import { Command } from "../parts/Command";
import { Dialog } from "./Dialog";
import { type RunRow, saveLabel } from "./data";

interface Props {
  run: RunRow;
  /** The command line for a label. */
  command: (label: string) => string;
  onClose: () => void;
  onSaved: (label: string) => void;
}

export function LabelDialog({ run, command, onClose, onSaved }: Props) {
  const [text, setText] = useState(run.label);
  const [problem, setProblem] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    saveLabel(run.id, text).then(
      (saved) => onSaved(saved.label),
      (error: Error) => setProblem(error.message),
    );
  };
  return (
    <Dialog title={`Label ${run.id}`} onClose={onClose}>
      <form onSubmit={save}>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <label>
          <span class="hidden">Label</span>
          <input class="label-box" value={text} maxLength={200} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="notes">Lists and reports show it. An empty label is removed.</p>
        <Command line={command(text)} />
        <div class="buttons">
          <button class="main-button">Save</button>
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
