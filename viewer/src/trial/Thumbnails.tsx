// The pages of a fax, small; each opens large.
import type { LogEvent } from "../data";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { AbsentPage } from "./AbsentPage";
import { pageText, pictureSource } from "./fax_pages";
import { openPages } from "./PageDialog";
import { Sheet } from "./Sheet";

export function Thumbnails({ trial, event: { fax } }: { trial: OpenTrial; event: LogEvent }) {
  if (!fax?.total) return null;
  const { assets } = trial.content;
  const name = `${fax.arrived ? "Fax from" : "Fax to"} ${fax.arrived ? fax.sender : fax.to}`;
  const views = fax.pages.map((page, place) => ({
    hash: page.hash,
    number: place + 1,
    title: `${name}, page ${place + 1} of ${fax.total}`,
    detail: page.document ? `${page.document}, its page ${page.number}` : "",
    text: pageText(trial, page.hash),
  }));
  const present = views.filter(({ hash }) => pictureSource(assets, hash));
  const left = fax.total - present.length;
  return (
    <div class="thumbnails" role="group" aria-label={`Pages of the ${name.toLowerCase()}`}>
      {present.map((view, place) => (
        <button type="button" class="thumbnail" title="Open the page" onClick={() => openPages(assets, present, place)}>
          <Sheet view={view} alt={view.title} assets={assets} />
          <span class="page-number" aria-hidden="true">
            {view.number}
          </span>
        </button>
      ))}
      {left > 0 && <AbsentPage text={plural(left, present.length ? "more page" : "page")} assets={assets} />}
    </div>
  );
}
