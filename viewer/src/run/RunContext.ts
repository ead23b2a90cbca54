// The run, for parts of a trial that name its outcomes, or go to another trial.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { RunModel } from "./model";

export const RunContext = createContext<RunModel | null>(null);

export function useRun(): RunModel {
  const run = useContext(RunContext);
  if (!run) throw new Error("this part stands outside of a run");
  return run;
}
