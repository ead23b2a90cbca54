// An expected value: matchers in words, anything else as it is.
import type { ComponentChildren } from "preact";
import type { Json, JsonMap } from "../data";
import { Coded } from "./Coded";
import { isMap, plainValue } from "./values";

const MATCHERS: Record<string, string> = {
  equals: "is",
  matches: "matches",
  contains: "contains",
  in: "one of",
  gt: "more than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
  not: "not",
  exists: "exists:",
  approx: "about",
  within: "within",
};

function isMatcher(value: Json): value is JsonMap {
  const keys = isMap(value) ? Object.keys(value) : [];
  return keys.length > 0 && keys.every((key) => Object.hasOwn(MATCHERS, key));
}

export function Expected({ value }: { value: Json }) {
  if (!isMatcher(value)) {
    return (
      <div class="value">
        <Coded text={plainValue(value)} />
      </div>
    );
  }
  return (
    <div class="value">
      {Object.entries(value).map(([name, argument], place) => (
        <>
          {place > 0 && <span class="matcher"> and </span>}
          <span class="matcher">{`${MATCHERS[name]} `}</span>
          {matcherArgument(name, argument)}
        </>
      ))}
    </div>
  );
}

function matcherArgument(name: string, argument: Json): ComponentChildren {
  if (name === "not" && isMatcher(argument)) return <Expected value={argument} />;
  if (name === "approx" && isMap(argument)) return `${String(argument.value)} ± ${String(argument.tolerance)}`;
  if (name === "within" && isMap(argument)) return `${String(argument.by)} of ${String(argument.of)}`;
  if (name === "in" && Array.isArray(argument)) return <Coded text={argument.map(plainValue).join(", ")} />;
  return <Coded text={plainValue(argument)} />;
}
