// Asks before a run is deleted.
import { useState } from "preact/hooks";
import { Dialog } from "./Dialog";
import { type RunRow, deleteRun } from "./data";

interface Props {
  run: RunRow;
  onClose: () => void;
  onDeleted: () => void;
}

export function DeleteDialog({ run, onClose, onDeleted }: Props) {
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
