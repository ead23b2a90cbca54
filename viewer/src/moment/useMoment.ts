import { useEffect, useState } from "preact/hooks";
import type { LoadState, MomentState } from "./data";

const WAIT = 120; // milliseconds without another move before a moment is asked for

export interface LoadedMoment {
  /** The moment that was loaded last. It stays while another one is loaded. */
  state: MomentState | null;
  isLoading: boolean;
  /** Why the moment could not be loaded; empty if it was, or is being loaded. */
  error: string;
}

/** Loads the state after an event. Of several requests only the last one counts. */
export function useMoment(seq: number, loadState: LoadState): LoadedMoment {
  const [state, setState] = useState<MomentState | null>(null);
  const [failure, setFailure] = useState<{ seq: number; reason: string } | null>(null);
  useEffect(() => {
    if (state?.seq === seq) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      loadState(seq, controller.signal).then(
        (loaded) => {
          if (controller.signal.aborted) return;
          setState(loaded);
          setFailure(null);
        },
        (error: unknown) => {
          if (controller.signal.aborted) return;
          setFailure({ seq, reason: error instanceof Error ? error.message : String(error) });
        },
      );
    }, WAIT);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [seq, loadState]);
  const error = failure?.seq === seq && state?.seq !== seq ? failure.reason : "";
  return { state, isLoading: state?.seq !== seq && error === "", error };
}
