// The steps of `sequencing` criteria, found and missing, as their evidence has them.
import type { Criterion, LogEvent } from "../data";
import type { OpenTrial } from "../trial";

export interface Step {
  number: number;
  text: string;
  found: boolean;
  isReached: boolean;
  word: string;
  outcome: "pass" | "fail" | "skipped";
  seq: number | null;
  event: LogEvent | null;
}

export interface Sequence {
  criterion: Criterion;
  /** The place among the criteria. */
  place: number;
  steps: Step[];
}

export function listSequences(trial: OpenTrial): Sequence[] {
  return trial.body.criteria.map((criterion, place) => ({ criterion, place, steps: listSteps(trial, criterion) })).filter(({ steps }) => steps.length);
}

/** The first step that failed is missing; those behind it were not looked for. */
function listSteps(trial: OpenTrial, { assertion, status, evidence }: Criterion): Step[] {
  const rows = assertion === "sequencing" && status === "judged" ? evidence.filter(({ path }) => /^step \d+$/.test(path)) : [];
  const failing = rows.findIndex(({ passed }) => !passed);
  return rows.map((row, place) => {
    const isReached = failing < 0 || place <= failing;
    const shared = { number: place + 1, text: String(row.expected), found: row.passed, isReached };
    const seq = isReached ? row.seq : null;
    const event = (seq !== null && trial.bySeq.get(seq)) || null;
    if (row.passed) return { ...shared, word: "found", outcome: "pass", seq, event };
    if (isReached) return { ...shared, word: "missing", outcome: "fail", seq, event };
    return { ...shared, word: `not checked, because step ${failing + 1} is missing`, outcome: "skipped", seq, event };
  });
}

/** The sequence that is shown first: the first failed one, or else the first; -1 without any. */
export function firstSequence(trial: OpenTrial): number {
  const sequences = listSequences(trial);
  return (sequences.find(({ criterion }) => !criterion.passed) ?? sequences[0])?.place ?? -1;
}
