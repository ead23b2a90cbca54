// One criterion: its result, what was found, and the evidence.
import { useContext } from "preact/hooks";
import type { Criterion } from "../data";
import { Badge } from "../parts/Badge";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { classes } from "../parts/words";
import { useRun } from "../run/RunContext";
import { SlotsContext } from "../slots";
import type { OpenTrial } from "../trial";
import { CitedPages } from "./CitedPages";
import { criterionOutcome, CRITERION_WORDS } from "./criterion_outcome";
import { Evidence, isJudged } from "./Evidence";
import { Linked } from "./Linked";

/** A sentence that may be scrolled, so that keys must reach it. */
const LONG_SENTENCE = 240;

interface CriterionCardProps {
  trial: OpenTrial;
  criterion: Criterion;
  place: number;
  isChosen: boolean;
  choose: (place: number) => void;
}

export function CriterionCard({ trial, criterion, place, isChosen, choose }: CriterionCardProps) {
  const { Judgement } = useContext(SlotsContext);
  const { source } = useRun();
  const outcome = criterionOutcome(criterion);
  const decides = !trial.body.undecided; // else it is folded away, and without a colour
  const shown = decides ? outcome : "skipped";
  const showOnLanes = () => {
    choose(place);
    const lanes = document.querySelector(".sandbox-lanes");
    lanes?.scrollIntoView({ block: "start" });
    lanes?.querySelector<HTMLElement>(".lane-evidence a")?.focus({ preventScroll: true });
  };
  return (
    <details id={`t${trial.number}k${place}`} class={classes("criterion", `is-${shown}`, isChosen && "is-chosen")} open={decides && outcome !== "pass"}>
      {/* Enter and the space bar click a head, too. The first click on an open one chooses it, the next folds it. */}
      <summary
        onClick={(event) => {
          if (!isChosen && event.currentTarget.parentElement?.hasAttribute("open")) event.preventDefault();
          choose(isChosen ? -1 : place);
        }}
      >
        <Icon name={shown} />
        <span class="label">
          <span class="word">{decides ? CRITERION_WORDS[outcome] : "Not judged"}</span> <Coded text={criterion.label} />
        </span>
        <span class="badges">
          <Badges criterion={criterion} isPassed={outcome === "pass"} />
        </span>
      </summary>
      <div class="inside">
        {criterion.detail && (
          <p class="sentence" tabIndex={criterion.detail.length > LONG_SENTENCE ? 0 : undefined}>
            <Linked text={criterion.detail} trial={trial} />
          </p>
        )}
        {criterion.traceback && <pre tabIndex={0}>{criterion.traceback}</pre>}
        <CitedPages criterion={criterion} trial={trial} />
        <Evidence criterion={criterion} trial={trial} />
        {Judgement && isJudged(criterion) && <Judgement source={source} trial={trial} criterion={criterion} place={place} />}
        <p class="assertion muted">
          Assertion <code>{criterion.assertion}</code>
          {criterion.evidence.some(({ seq }) => seq !== null && trial.bySeq.has(seq)) && (
            <button type="button" class="quiet" onClick={showOnLanes}>
              Show on the lanes
            </button>
          )}
        </p>
      </div>
    </details>
  );
}

function Badges({ criterion, isPassed }: { criterion: Criterion; isPassed: boolean }) {
  const { gate, monitor, weight, axis, implied, input_entity_id: entity, score } = criterion;
  return (
    <>
      {gate && (
        <Badge kind="gate" title="If it fails, the verdict is fail, whatever the score">
          gate
        </Badge>
      )}
      {monitor && <Badge title="It runs on every task">monitor</Badge>}
      {monitor && !gate && <Badge title="It changes no verdict">warning only</Badge>}
      {weight !== 1 && !implied && <Badge title="Weight in the score">{`weight ${weight}`}</Badge>}
      {axis && (
        <Badge kind="axis" title="Axis of the score">
          {axis}
        </Badge>
      )}
      {entity && <Badge title="The record that it checks">{`about ${entity}`}</Badge>}
      {!isPassed && score > 0 && <Badge>{`score ${score.toFixed(2)}`}</Badge>}
    </>
  );
}
