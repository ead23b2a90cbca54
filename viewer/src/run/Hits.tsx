// Above the trial: where the words of a search stand in it, with links.
import { plural } from "../parts/words";
import type { Trial } from "../trial";
import { Marked } from "./Marked";
import type { RunModel } from "./model";
import { findHits } from "./search";

const MOST_HITS = 12;

export function Hits({ run, trial }: { run: RunModel; trial: Trial }) {
  const { search } = run;
  const hits = search.terms.length ? findHits(trial, search) : [];
  return (
    <section class="hits" hidden={!hits.length}>
      <h3>{`Found in ${plural(hits.length, "place")} of this trial`}</h3>
      <ul>
        {hits.slice(0, MOST_HITS).map((hit) => (
          <li>
            <a href={hit.href}>{hit.where}</a>{" "}
            <span>
              <Marked text={hit.text} search={search} width={160} />
            </span>
          </li>
        ))}
      </ul>
      {hits.length > MOST_HITS && <p class="muted">{`and ${plural(hits.length - MOST_HITS, "more place")}`}</p>}
    </section>
  );
}
