// The entry of the viewer: each page names what it is.
import { render, type ComponentChild } from "preact";
import { Judgement } from "./judgement/Judgement";
import { TrialMoment } from "./moment/TrialMoment";
import { mountPlay } from "./play/mount";
import { RunPage } from "./run/mount";
import { RunsPage } from "./runs/RunsPage";
import { ServerSource, type RunAddresses } from "./server";

function readData<T>(): T {
  return JSON.parse(document.getElementById("data")!.textContent!) as T;
}

const PAGES: Record<string, () => void> = {
  run: () => new RunPage(new ServerSource(readData<RunAddresses>()), { Moment: TrialMoment, Judgement }).start(),
  play: mountPlay,
  runs: () => show("runs", <RunsPage initial={readData()} />),
};

/** Draws a page in the place that the program left for it, instead of what stands there for readers without scripts. */
function show(id: string, page: ComponentChild): void {
  const place = document.getElementById(id)!;
  place.replaceChildren();
  render(page, place);
}

PAGES[document.body.dataset.page ?? ""]?.();
