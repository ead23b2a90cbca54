// The rows of the list: a task with its trials, or a trial.
import type { Trial } from "../trial";

/** A task with its trials. */
export interface Group {
  task: string;
  trials: Trial[];
  isOpen: boolean;
  worst: string;
  passed: number;
  graded: number;
  isFlaky: boolean;
  seconds: number | undefined;
  cost: number | undefined;
}

/** Tasks that have something in common, with the results of their trials. */
export interface Section {
  name: string;
  groups: Group[];
  passed: number;
  graded: number;
}

/** What stands in one row: the head of a section, a task of several trials, one of its trials, or the only trial of a task. */
export type ListRow =
  | { sort: "section"; section: Section }
  | { sort: "task"; group: Group; under: string }
  | { sort: "inner" | "only"; group: Group; trial: Trial; under: string };

/** By what tasks stand under heads; a task with several tags stands under each. */
export const SECTIONS = { template: "Template", tag: "Tag", level: "Level" } as const;
export type SectionBy = keyof typeof SECTIONS;

const LEVELS = ["easy", "medium", "hard"];

/** The names of the sections in which a task stands. */
function namesOf(group: Group, by: SectionBy): string[] {
  const { template, tags } = group.trials[0]!.row;
  if (by === "template") return [template ?? "without a template"];
  if (by === "level") return [tags.find((tag) => LEVELS.includes(tag)) ?? "without a level"];
  const others = tags.filter((tag) => !LEVELS.includes(tag));
  return others.length ? others : ["without a tag"];
}

/** Whether a run has what its tasks would be grouped by. */
export function canGroupBy(groups: readonly Group[], by: SectionBy): boolean {
  return groups.some((group) => namesOf(group, by).some((name) => !name.startsWith("without ")));
}

/** Puts groups, which are sorted, into sections by name; levels stand in their order. */
export function listSections(groups: readonly Group[], by: SectionBy): Section[] {
  const byName = new Map<string, Group[]>();
  for (const group of groups) {
    for (const name of namesOf(group, by)) {
      const known = byName.get(name);
      if (known) known.push(group);
      else byName.set(name, [group]);
    }
  }
  const rank = (name: string) => (name.startsWith("without ") ? 1 : 0);
  const level = (name: string) => (by === "level" ? LEVELS.indexOf(name) : 0);
  const sum = (own: Group[], count: "passed" | "graded") => own.reduce((total, group) => total + group[count], 0);
  return [...byName]
    .sort(([a], [b]) => rank(a) - rank(b) || level(a) - level(b) || collator.compare(a, b))
    .map(([name, own]) => ({ name, groups: own, passed: sum(own, "passed"), graded: sum(own, "graded") }));
}

export type SortBy = "name" | "result" | "seconds" | "cost";

export interface Sorting {
  by: SortBy;
  isReversed: boolean;
}

export const COLUMNS: { by: SortBy; title: string; isLargestFirst?: boolean }[] = [
  { by: "name", title: "Task" },
  { by: "result", title: "Result" },
  { by: "seconds", title: "Took", isLargestFirst: true },
  { by: "cost", title: "Cost", isLargestFirst: true },
];

export type Rank = (outcome: string) => number;

/** Groups trials by task. `open` names the tasks whose trials are shown. */
export function groupTrials(trials: Trial[], rank: Rank, open: ReadonlySet<string>): Group[] {
  const byTask = new Map<string, Trial[]>();
  for (const trial of trials) {
    const known = byTask.get(trial.row.task);
    if (known) known.push(trial);
    else byTask.set(trial.row.task, [trial]);
  }
  return [...byTask].map(([task, own]) => summarize(task, own, rank, open.has(task)));
}

function summarize(task: string, trials: Trial[], rank: Rank, isOpen: boolean): Group {
  trials.sort((a, b) => rank(a.row.outcome) - rank(b.row.outcome) || a.row.trial - b.row.trial);
  const count = (outcomes: string[]) => trials.filter(({ row }) => outcomes.includes(row.outcome)).length;
  const mean = (by: "seconds" | "cost") => {
    const known = trials.map(({ row }) => row[by]).filter((value) => value !== undefined);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : undefined;
  };
  const [passed, graded] = [count(["pass"]), count(["pass", "partial", "fail"])];
  const isFlaky = passed > 0 && passed < graded;
  return { task, trials, isOpen, worst: trials[0]!.row.outcome, passed, graded, isFlaky, seconds: mean("seconds"), cost: mean("cost") };
}

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts groups in place. Those without a value come last in both directions. */
export function sortGroups(groups: Group[], { by, isReversed }: Sorting, rank: Rank): void {
  const compare: Record<SortBy, (a: Group, b: Group) => number> = {
    name: (a, b) => collator.compare(a.task, b.task),
    result: (a, b) => rank(a.worst) - rank(b.worst) || a.passed / (a.graded || 1) - b.passed / (b.graded || 1),
    seconds: (a, b) => (a.seconds ?? 0) - (b.seconds ?? 0),
    cost: (a, b) => (a.cost ?? 0) - (b.cost ?? 0),
  };
  const isMissing = (group: Group) => Number((by === "seconds" || by === "cost") && group[by] === undefined);
  groups.sort((a, b) => isMissing(a) - isMissing(b) || (isMissing(a) ? 0 : compare[by](a, b) * (isReversed ? -1 : 1)) || a.trials[0]!.number - b.trials[0]!.number);
}

/** The rows in order, of the trials that are let through. */
export function listRows(groups: Group[], lets: (trial: Trial) => boolean, by: SectionBy | "" = ""): ListRow[] {
  if (!by) return rowsOf(groups, lets, "");
  return listSections(groups, by).flatMap((section) => {
    const rows = rowsOf(section.groups, lets, section.name);
    return rows.length ? [{ sort: "section" as const, section }, ...rows] : [];
  });
}

function rowsOf(groups: Group[], lets: (trial: Trial) => boolean, under: string): ListRow[] {
  const rows: ListRow[] = [];
  for (const group of groups) {
    const [first] = group.trials;
    if (group.trials.length === 1) {
      if (lets(first!)) rows.push({ sort: "only", group, trial: first!, under });
      continue;
    }
    const shown = group.trials.filter(lets);
    if (!shown.length) continue;
    rows.push({ sort: "task", group, under });
    if (group.isOpen) for (const trial of shown) rows.push({ sort: "inner", group, trial, under });
  }
  return rows;
}

/** What names a row while the list changes around it. */
export function keyOfRow(row: ListRow): string {
  if (row.sort === "section") return `section ${row.section.name}`;
  const name = row.sort === "task" ? `task ${row.group.trials[0]!.number}` : String(row.trial.number);
  return row.under ? `${row.under}: ${name}` : name;
}
