import type { TrialRow } from "../data";

/** What is said of a trial beside its score. */
export function trialMarks(row: TrialRow): string[] {
  const failed = row.failed_criteria;
  return [
    row.attempt > 1 ? `attempt ${row.attempt}` : "",
    row.timed_out ? "timed out" : "",
    row.crashed ? "agent crashed" : "",
    row.changed ?? "",
    failed ? `${failed} failed ${failed === 1 ? "criterion" : "criteria"}` : "",
  ].filter(Boolean);
}
