// Where the words of a search stand: in the row of a trial, or of a closed task for its first trial that has the words.
import type { Trial } from "../trial";
import { Marked } from "./Marked";
import type { RunModel } from "./model";
import { findHits } from "./search";

export function Snippet({ run, trial }: { run: RunModel; trial: Trial | null }) {
  const [hit] = run.search.found === null || !trial ? [] : findHits(trial, run.search);
  if (!hit || hit.place === 0) return <p role="cell" class="snippet" hidden />;
  return (
    <p role="cell" class="snippet">
      <a href={hit.href}>{hit.where}</a> <Marked text={hit.text} search={run.search} width={110} />
    </p>
  );
}
