// The picture of a page with its marks. Boxes are in dots of the page; their layer has the same shape as the picture.
import type { Assets, PageMark } from "../data";
import { pictureSource, type PageView } from "./fax_pages";

const EDGE = 7; // dots around a word

export function Sheet({ view, alt, assets, pointed = -1 }: { view: PageView; alt: string; assets: Assets; pointed?: number }) {
  const page = assets.pictures[view.hash]!;
  return (
    <span class="sheet">
      <img src={pictureSource(assets, view.hash)!} alt={alt} width={page.width} height={page.height} />
      {view.marks && view.marks.length > 0 && (
        <svg class="marks" viewBox={`0 0 ${page.width} ${page.height}`} aria-hidden="true">
          {view.marks.map((mark, place) => (
            <MarkBoxes mark={mark} place={place} isPointed={place === pointed} />
          ))}
        </svg>
      )}
    </span>
  );
}

export function MarkBoxes({ mark, place, isPointed = false }: { mark: PageMark; place: number; isPointed?: boolean }) {
  return (
    <>
      {mark.boxes.map(([left, top, wide, high]) => (
        <g class={`mark-box is-${mark.sort} ${isPointed ? "pointed" : ""}`} data-mark={place}>
          <rect x={left - EDGE} y={top - EDGE} width={wide + 2 * EDGE} height={high + 2 * EDGE} rx={6} />
        </g>
      ))}
    </>
  );
}
