// Keys of the page: j and k go through the trials, a slash searches; in the list, arrows do so, too.
import type { RunPage } from "./mount";

export function keyDown(page: RunPage, event: KeyboardEvent): void {
  const target = event.target;
  if (!(target instanceof Element) || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = target.matches("input, textarea");
  const { run } = page;
  if (isTyping && !target.closest("#list")) return;
  if (isTyping && event.key === "Escape") {
    page.list.current!.showWords("");
    run.startSearch("");
    (target as HTMLElement).blur();
  }
  if (isTyping && event.key === "Enter" && run.selected && !run.lets(run.selected)) page.move(1);
  if (isTyping && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.key === "/") {
    event.preventDefault();
    page.list.current!.focusSearch();
    return;
  }
  const isInList = target.closest("#list") !== null;
  const step = { j: 1, k: -1, ...(isInList ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
  if (!step) return;
  const task = isInList && event.key.startsWith("Arrow") ? target.closest<HTMLElement>(".row-of-task") : null;
  const next = task ? moveFromTask(page, Number(task.dataset.first), step) : page.move(step);
  if (!next) return;
  event.preventDefault();
  if (isInList && !isTyping) {
    page.route(); // at once, so that the row is there
    document.querySelector<HTMLElement>("#list [aria-current]")?.focus({ preventScroll: true });
  }
}

/** From the row of a task: down to its first trial, up to the last trial before it. */
function moveFromTask(page: RunPage, first: number, step: number) {
  const { run } = page;
  const { trials } = run.groups.find((group) => group.trials[0]!.number === first)!;
  return page.goTo(step > 0 ? trials.find(run.lets)! : run.neighbour(trials[0]!, step));
}
