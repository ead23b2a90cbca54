// The pages that a criterion read: the picture with marks, and a list of what was looked for, each with a close-up.
import { useState } from "preact/hooks";
import type { Assets, Criterion, PageMark } from "../data";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { AbsentPage } from "./AbsentPage";
import { describePage, MARK_OUTCOMES, MARK_WORDS, pageText, pictureSource, type PageView } from "./fax_pages";
import { openPages } from "./PageDialog";
import { MarkBoxes, Sheet } from "./Sheet";

const MOST_CLOSE_UPS = 12;
const ORDER = ["forbidden", "missing", "found"];

export function CitedPages({ criterion, trial }: { criterion: Criterion; trial: OpenTrial }) {
  if (!criterion.pages) return null;
  const { assets } = trial.content;
  const views = criterion.pages.map((page) => ({ ...page, title: page.caption || "Page of a fax", detail: criterion.label, text: pageText(trial, page.hash) }));
  const present = views.filter(({ hash }) => pictureSource(assets, hash));
  return (
    <div class="cited-pages">
      {views.map((view) => (
        <CitedPage view={view} views={present} assets={assets} />
      ))}
      {(criterion.pages_left_out ?? 0) > 0 && <AbsentPage text={plural(criterion.pages_left_out!, "more page")} assets={assets} />}
    </div>
  );
}

/** A value in the list lights up its boxes on the page. */
function CitedPage({ view, views, assets }: { view: PageView; views: PageView[]; assets: Assets }) {
  const [pointed, setPointed] = useState(-1);
  if (!pictureSource(assets, view.hash)) {
    return (
      <div class="cited-page">
        <div class="beside">
          <h4>{view.title}</h4>
          <AbsentPage text="The page" assets={assets} />
          <MarkList view={view} assets={assets} point={setPointed} />
        </div>
      </div>
    );
  }
  return (
    <figure class="cited-page">
      <button type="button" class="thumbnail large" title="Open the page" onClick={() => openPages(assets, views, views.indexOf(view))}>
        <Sheet view={view} alt={describePage(view)} assets={assets} pointed={pointed} />
      </button>
      <figcaption class="beside">
        <h4>{view.title}</h4>
        <MarkList view={view} assets={assets} point={setPointed} />
      </figcaption>
    </figure>
  );
}

function MarkList({ view, assets, point }: { view: PageView; assets: Assets; point: (place: number) => void }) {
  const marks = (view.marks ?? []).map((mark, place) => ({ mark, place })).sort((a, b) => ORDER.indexOf(a.mark.sort) - ORDER.indexOf(b.mark.sort));
  const left = view.marks_left_out ?? 0;
  return (
    <>
      {marks.length ? (
        <ul class="mark-list">
          {marks.map(({ mark, place }, row) => (
            <li class={`is-${MARK_OUTCOMES[mark.sort]}`} data-mark={place} onPointerEnter={() => point(place)} onPointerLeave={() => point(-1)}>
              <Icon name={MARK_OUTCOMES[mark.sort]} />
              <span>
                <b>{MARK_WORDS[mark.sort]}</b> <q>{mark.text}</q>
              </span>
              {row < MOST_CLOSE_UPS && <CloseUp view={view} mark={mark} place={place} assets={assets} />}
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">No value was looked for on this page.</p>
      )}
      {left > 0 && <p class="muted">{`${plural(left, "more value")} not shown.`}</p>}
    </>
  );
}

/** A strip of the page around the first place of a value, at a size that people can read. */
function CloseUp({ view, mark, place, assets }: { view: PageView; mark: PageMark; place: number; assets: Assets }) {
  const page = assets.pictures[view.hash];
  const [box] = mark.boxes;
  if (!page || !box) return null;
  const [left, top, wide, high] = box;
  const strip = { wide: Math.min(Math.max(620, wide + 160), page.width), high: Math.max(high + 56, 90) };
  const x = Math.min(Math.max(left + wide / 2 - strip.wide / 2, 0), page.width - strip.wide);
  const y = Math.min(Math.max(top + high / 2 - strip.high / 2, 0), Math.max(page.height - strip.high, 0));
  return (
    <svg class="close-up" viewBox={`${x} ${y} ${strip.wide} ${strip.high}`} aria-hidden="true">
      <image href={pictureSource(assets, view.hash)!} width={page.width} height={page.height} preserveAspectRatio="none" />
      <MarkBoxes mark={mark} place={place} />
    </svg>
  );
}
