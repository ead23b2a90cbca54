// Asks before a run is deleted.
import { useState } from "preact/hooks";
import { Command } from "../parts/Command";
import { Dialog } from "./Dialog";
import { type RunRow, deleteRun } from "./data";

interface Props {
  run: RunRow;
  command: string;
  onClose: () => void;
  onDeleted: () => void;
}

export function DeleteDialog({ run, command, onClose, onDeleted }: Props) {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const confirm = (event: Event) => {
    event.preventDefault();
    setBusy(true);
    deleteRun(run.id).then(onDeleted, (error: Error) => {
      setBusy(false);
      setProblem(error.message);
    });
  };
  return (
    <Dialog title={`Delete ${run.id}?`} onClose={onClose}>
      <form onSubmit={confirm}>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p>
          {run.done.toLocaleString("en")} trials of {run.agent} with their logs are deleted for good. Runs made from it stay.
        </p>
        <Command line={command} />
        <div class="buttons">
          <button class="main-button danger" disabled={isBusy}>
            Delete
          </button>
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
