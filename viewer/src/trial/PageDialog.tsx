// One dialog for pages of faxes: Escape closes it, arrows turn pages, and the focus goes back to what opened it.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Assets } from "../data";
import { Coded } from "../parts/Coded";
import { describePage, type PageView } from "./fax_pages";
import { Sheet } from "./Sheet";

/** Shows some pages, beginning with one of them. */
export function openPages(assets: Assets, views: PageView[], place: number): void {
  const holder = document.createElement("div");
  document.body.append(holder);
  const close = () => {
    render(null, holder);
    holder.remove();
  };
  render(<PageDialog assets={assets} views={views} first={place} closed={close} />, holder);
}

interface PageDialogProps {
  assets: Assets;
  views: PageView[];
  first: number;
  closed: () => void;
}

function PageDialog({ assets, views, first, closed }: PageDialogProps) {
  const [at, setAt] = useState(first);
  const [isLarge, setLarge] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    dialog.current!.showModal();
    body.current!.focus();
  }, []);
  useLayoutEffect(() => body.current!.scrollTo(0, 0), [at]);
  const view = views[at]!;
  const turn = (by: number) => {
    if (views[at + by]) setAt(at + by);
  };
  const enlarge = () => setLarge(!isLarge);
  const onKey = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (by) turn(by);
    if (event.key === "z") enlarge();
    if (by || event.key === "z") event.preventDefault();
  };
  const step = (by: number, word: string, arrow: string) => (
    <button type="button" class="step" aria-label={`${word} page`} disabled={!views[at + by]} onClick={() => turn(by)}>
      {arrow}
    </button>
  );
  return (
    <dialog
      ref={dialog}
      class="viewer"
      aria-labelledby="viewer-title"
      onKeyDown={onKey}
      onClick={(event) => event.target === dialog.current && dialog.current!.close()}
      onClose={closed}
    >
      <div class="viewer-head">
        <div>
          <h3 id="viewer-title" aria-live="polite">
            {view.title}
          </h3>
          <p class="muted">
            <Coded text={[view.detail, views.length > 1 ? `${at + 1} of ${views.length} shown` : ""].filter(Boolean).join(" · ")} />
          </p>
        </div>
        <span class="steps">
          <button type="button" class="quiet" aria-pressed={isLarge} onClick={enlarge}>
            Actual size
          </button>
          {step(-1, "Previous", "←")}
          {step(1, "Next", "→")}
          <button type="button" class="step" aria-label="Close" onClick={() => dialog.current!.close()}>
            ✕
          </button>
        </span>
      </div>
      <div ref={body} class={`viewer-page ${isLarge ? "actual" : ""}`} tabIndex={0} role="group">
        <Sheet key={at} view={view} alt={view.marks ? describePage(view) : view.title} assets={assets} />
      </div>
      {view.text && (
        <details class="viewer-text">
          <summary>Text that was drawn on the page</summary>
          <pre tabIndex={0}>{view.text}</pre>
        </details>
      )}
      <p class="keys">
        {views.length > 1 && (
          <>
            <kbd>←</kbd> <kbd>→</kbd> turn pages{"  "}
          </>
        )}
        <kbd>z</kbd> actual size{"  "}
        <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}
