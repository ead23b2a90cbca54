// Goes to what an address names within a trial. Folds are opened by the element, because readers open and close them, too.
import type { Trial } from "../trial";

/** Opens and marks the row of the transcript of a call. */
export function showMoment(trial: Trial, seq: number): void {
  const place = document.getElementById(`t${trial.number}m${seq}`);
  if (!place) return;
  const fold = place.closest("details");
  if (fold) fold.open = true;
  for (const other of document.querySelectorAll(".moment.aimed")) other.classList.remove("aimed");
  place.closest("tr")?.classList.add("aimed");
  place.scrollIntoView({ block: "center" });
}

export function showCriterion(trial: Trial, place: number): void {
  const card = document.getElementById(`t${trial.number}k${place}`);
  if (!(card instanceof HTMLDetailsElement)) return;
  const fold = card.parentElement?.closest("details"); // of the checks on every task
  if (fold) fold.open = true;
  card.open = true;
  card.scrollIntoView({ block: "center" });
  card.querySelector("summary")?.focus({ preventScroll: true });
}
