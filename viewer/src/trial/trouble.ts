// Events that tell of trouble: each sort has a word, an icon and a class.

export interface Trouble {
  word: string;
  icon: string;
  kind: "refused" | "fault" | "failed";
}

const TROUBLES: [RegExp, Trouble][] = [
  [/^person\.broke_contract$/, { word: "out of role", icon: "invalid_person", kind: "refused" }],
  [/(^|\.)(refused|objected)$/, { word: "refused", icon: "cancelled", kind: "refused" }],
  [/^fault\./, { word: "fault injected", icon: "fault", kind: "fault" }],
  [/(^|\.)failed$/, { word: "failed", icon: "errored", kind: "failed" }],
];

const known = new Map<string, Trouble | null>();

export function troubleOf({ kind }: { kind: string }): Trouble | null {
  let trouble = known.get(kind);
  if (trouble === undefined) {
    trouble = TROUBLES.find(([pattern]) => pattern.test(kind))?.[1] ?? null;
    known.set(kind, trouble);
  }
  return trouble;
}

/** The sorts of trouble in a log, in the order in which they first occur. */
export function listTroubles(events: readonly { kind: string }[]): Trouble[] {
  return [...new Set(events.map(troubleOf))].filter((trouble) => trouble !== null);
}
