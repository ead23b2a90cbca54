// What is drawn over the lanes: the steps of a sequence, and what caused the selected event and what it caused.
import type { OpenTrial } from "../trial";
import { plainText } from "../parts/Coded";
import { linksOf } from "./cause_links";
import type { Lane } from "./lanes";
import type { LaneTip } from "./LaneTip";
import { LANE } from "./measures";
import type { Sequence } from "./sequences";
import { isLate, placeSteps, type Spot } from "./step_spots";
import { inChart, isInSight, type LaneView } from "./view";

interface LaneFrontProps {
  trial: OpenTrial;
  lanes: Lane[];
  sequence: Sequence | null;
  selected: number | null;
  view: LaneView | null;
  tip: () => LaneTip;
}

export function LaneFront({ trial, lanes, sequence, selected, view, tip }: LaneFrontProps) {
  if (!view) return null;
  const spots = sequence ? placeSteps(sequence, lanes, view.scale, view.total) : [];
  // The event of a missing step is in the wrong place; if there is none at all, it is only the nearest one.
  const isElsewhere = sequence !== null && !/, never happened/.test(sequence.criterion.detail);
  const line = (from: { x: number; y: number }, to: { x: number; y: number }, name: string) =>
    isInSight(view, Math.min(from.x, to.x), Math.max(from.x, to.x)) && <line class={name} x1={percent(view, from.x)} y1={from.y} x2={percent(view, to.x)} y2={to.y} />;
  return (
    <>
      <svg width="100%" height={lanes.length * LANE.height}>
        {selected !== null &&
          linksOf(trial, lanes, view.scale, selected).map(({ from, to, sort }) => (
            <>
              {line(from, to, `is-${sort}`)}
              {isInSight(view, to.x) && <circle class={`is-${sort}`} cx={percent(view, to.x)} cy={to.y} r={4} />}
            </>
          ))}
        {spots.map((spot, place) => (
          <>
            {place > 0 && line(spots[place - 1]!, spot, `is-${spot.step.outcome}`)}
            {spot.event && (spot.step.found || isElsewhere) && line(spot, spot.event, spot.step.found ? "is-stem" : "is-elsewhere")}
          </>
        ))}
      </svg>
      {spots
        .filter(({ x }) => isInSight(view, x))
        .map((spot) => (
          <StepBadge trial={trial} spot={spot} view={view} tip={tip} />
        ))}
    </>
  );
}

function percent({ width, offset }: LaneView, x: number): string {
  return `${((x - offset) / width) * 100}%`;
}

function StepBadge({ trial, spot, view, tip }: { trial: OpenTrial; spot: Spot; view: LaneView; tip: () => LaneTip }) {
  const { step, words, x, y } = spot;
  const style = { ...inChart(view, x), "--y": `${y}px` };
  const shared = { class: `step-badge is-${step.outcome}`, style, ...tip().for(() => [`Step ${step.number}: ${step.word}`, plainText(step.text)]) };
  return (
    <>
      {step.found ? (
        <a tabIndex={-1} href={`#t${trial.number}e${step.seq}`} {...shared}>
          {step.number}
        </a>
      ) : (
        <span {...shared}>{step.number}</span>
      )}
      {words && (
        <span class={`step-words is-fail ${isLate({ x: x - view.offset }, view.width) ? "before" : ""}`} style={style}>
          {words}
        </span>
      )}
    </>
  );
}
