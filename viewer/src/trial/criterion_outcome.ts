import type { Criterion } from "../data";

export type CriterionOutcome = "fail" | "errored" | "partial" | "skipped" | "pass";

export const CRITERION_WORDS: Record<CriterionOutcome, string> = { fail: "Failed", errored: "Error", partial: "Warning", skipped: "Skipped", pass: "Passed" };

/** The outcomes, the most urgent first. */
export const BY_URGENCY = Object.keys(CRITERION_WORDS) as CriterionOutcome[];

export function criterionOutcome(criterion: Criterion): CriterionOutcome {
  if (criterion.status === "error") return "errored";
  if (criterion.status === "skipped") return "skipped";
  return criterion.passed ? "pass" : criterion.monitor && !criterion.gate ? "partial" : "fail";
}
