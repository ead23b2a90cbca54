// A page of a website as it was sent, in a frame without scripts.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Assets, LogEvent } from "../data";

// As wide as a desktop, so that a page has the layout that it had for the agent; it is shown smaller where there is less room.
const WIDTH = 1280;
const HEIGHT = 860;

/** The page with its style sheets in it, because a frame of this page can load nothing; null if the page is not here. */
export function sitePageSource(event: LogEvent, assets: Assets): string | null {
  const html = event.page ? assets.site_pages?.[event.page] : undefined;
  if (!html) return null;
  const styles = assets.site_styles ?? {};
  return html.replace(/<link rel="stylesheet" href="\/static\/([a-z_]+\/[a-z_]+\.css)">/g, (_, name: string) => `<style>${styles[name] ?? ""}</style>`);
}

export function sitePageTitle({ payload }: LogEvent): string {
  return String(payload.title || payload.page || "");
}

export function SitePage({ source, title }: { source: string; title: string }) {
  const box = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  useLayoutEffect(() => {
    const fit = () => {
      const scale = Math.min(1, box.current!.clientWidth / WIDTH);
      frame.current!.style.transform = `scale(${scale})`;
      box.current!.style.height = `${HEIGHT * scale}px`;
    };
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="site-page-box" ref={box}>
      <iframe ref={frame} sandbox="" title={`Page: ${title}`} srcDoc={source} style={{ width: `${WIDTH}px`, height: `${HEIGHT}px` }} />
    </div>
  );
}
