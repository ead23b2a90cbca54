// The header is readable without a script; with one, each of its counts is a button that shows the trials it counts.
import { h, render } from "preact";
import { FACETS, type Facet } from "../data";
import { CopyButton } from "../parts/CopyButton";
import type { ChosenRow, FindRow } from "./filters";
import type { RunModel } from "./model";

/** Puts what an element holds into a button. */
function toButton(holder: Element, name: string, title: string, press: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = name;
  if (title) button.title = title;
  button.append(...holder.childNodes);
  button.addEventListener("click", press);
  holder.replaceChildren(button);
  return button;
}

function listRows(by: Facet): ChosenRow[] {
  const counts = new Map<string, number>();
  return [...document.querySelectorAll<HTMLElement>(`.breakdown[data-by="${by}"] li`)].map((row) => {
    const text = row.querySelector(".row-text")?.textContent ?? "";
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return { number: Number(row.dataset.number), text, name: count > 1 ? `${text} (${count})` : text };
  });
}

/** The row of the overview that an address names. */
export const findRow: FindRow = (by, name) => listRows(by).find((row) => row.name === name) ?? null;

/** Makes the buttons; returns what shows whether they are pressed. `press` applies a change of the filters. */
export function buildOverviewButtons(run: RunModel, press: (change: () => void) => void): () => void {
  const updates: (() => void)[] = [];
  const add = (holder: Element, name: string, title: string, isPressed: () => boolean, toggle: (isPressed: boolean) => void) => {
    const button = toButton(holder, name, title, () => {
      press(() => toggle(isPressed()));
      showList();
    });
    updates.push(() => button.setAttribute("aria-pressed", String(isPressed())));
  };
  for (const item of document.querySelectorAll<HTMLElement>(".tally li:not(.none)")) {
    const outcome = item.dataset.outcome ?? "";
    add(item, "count", "", () => run.filter.outcome === outcome, (isPressed) => run.setFilter({ outcome: isPressed ? "" : outcome }));
  }
  for (const by of FACETS) {
    const rows = new Map(listRows(by).map((row) => [row.number, row]));
    for (const item of document.querySelectorAll<HTMLElement>(`.breakdown[data-by="${by}"] li`)) {
      const row = rows.get(Number(item.dataset.number))!;
      const isPressed = () => run.filter.rows.get(by)?.number === row.number;
      add(item, "row-button", "Show only these trials", isPressed, (isOn) => run.setRow(by, isOn ? null : row));
    }
  }
  for (const cell of document.querySelectorAll<HTMLElement>(".templates tbody th")) {
    const template = cell.dataset.template ?? "";
    add(cell, "of-template", "Show only its trials", () => run.filter.template === template, (isPressed) => run.setFilter({ template: isPressed ? "" : template }));
  }
  return () => {
    for (const update of updates) update();
  };
}

/** After a click in the header, scrolls to the list if it is out of sight. */
function showList(): void {
  const list = document.getElementById("list")!;
  if (list.getBoundingClientRect().top > innerHeight * 0.6) list.scrollIntoView({ block: "start" });
}

/** A button beside each command line of the header. */
export function addCopyButtons(): void {
  for (const code of document.querySelectorAll("header code.copy")) {
    const holder = document.createElement("span");
    code.after(" ", holder);
    render(h(CopyButton, { text: code.textContent ?? "", what: "the command" }), holder);
  }
}
