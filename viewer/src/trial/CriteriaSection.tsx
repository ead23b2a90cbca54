// The criteria, the most urgent first; a criterion that is chosen lights up its evidence on the lanes.
import { useRef, useState } from "preact/hooks";
import type { Criterion } from "../data";
import type { OpenTrial } from "../trial";
import { BY_URGENCY, criterionOutcome, CRITERION_WORDS } from "./criterion_outcome";
import { CriterionCard } from "./CriterionCard";

interface CriteriaSectionProps {
  trial: OpenTrial;
  /** The place of the chosen criterion; -1 if there is none. */
  chosen: number;
  choose: (place: number) => void;
}

export function CriteriaSection({ trial, chosen, choose }: CriteriaSectionProps) {
  const cards = useRef<HTMLElement>(null);
  const { criteria, undecided, criteria_count: count } = trial.body;
  if (!criteria.length) {
    return (
      <section>
        <h3>Criteria</h3>
        <p class="muted">There are no criteria.</p>
      </section>
    );
  }
  const rank = (criterion: Criterion) => BY_URGENCY.indexOf(criterionOutcome(criterion));
  const sorted = [...criteria].sort((a, b) => rank(a) - rank(b));
  const written = sorted.filter(({ implied }) => !implied);
  const card = (criterion: Criterion) => {
    const place = criteria.indexOf(criterion);
    return <CriterionCard key={place} trial={trial} criterion={criterion} place={place} isChosen={place === chosen} choose={choose} />;
  };
  return (
    <section class="criteria" ref={cards}>
      <div class="heading">
        <h3>Criteria</h3>
        <span class="muted">{undecided || count}</span>
        {written.length > 0 && <UnfoldButton folds={() => [...cards.current!.querySelectorAll<HTMLDetailsElement>(":scope > .criterion")]} />}
      </div>
      {written.map(card)}
      <EveryTaskChecks checks={sorted.filter(({ implied }) => implied)} isDecided={!undecided} card={card} />
    </section>
  );
}

function UnfoldButton({ folds }: { folds: () => HTMLDetailsElement[] }) {
  const [isOpen, setOpen] = useState(false);
  const unfold = () => {
    const all = folds();
    const open = !all.every((one) => one.open);
    for (const one of all) one.open = open;
    setOpen(open);
  };
  return (
    <button type="button" class="quiet push" onClick={unfold}>
      {isOpen ? "Hide evidence" : "Show all evidence"}
    </button>
  );
}

interface EveryTaskChecksProps {
  checks: Criterion[];
  isDecided: boolean;
  card: (criterion: Criterion) => preact.VNode;
}

/** What no author wrote stands apart and is not counted; it is folded unless something in it did not pass. */
function EveryTaskChecks({ checks, isDecided, card }: EveryTaskChecksProps) {
  if (!checks.length) return null;
  const outcomes = checks.map(criterionOutcome);
  const counts = BY_URGENCY.map((name) => ({ name, number: outcomes.filter((outcome) => outcome === name).length }))
    .filter(({ number }) => number)
    .map(({ name, number }) => `${number} ${CRITERION_WORDS[name].toLowerCase()}`);
  const isOpen = isDecided && outcomes.some((outcome) => outcome !== "pass" && outcome !== "skipped");
  return (
    <details class="checks" open={isOpen}>
      <summary class="muted">{`Checked on every task: ${counts.join(", ")}`}</summary>
      {checks.map(card)}
    </details>
  );
}
