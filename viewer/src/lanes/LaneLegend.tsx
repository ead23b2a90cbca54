import type { ComponentChildren } from "preact";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { listTroubles } from "../trial/trouble";
import type { Span } from "./lanes";
import { hasPages } from "./mark_groups";

interface LaneLegendProps {
  trial: OpenTrial;
  spans: Span[];
  hasEvidence: boolean;
  hasMoment: boolean;
  isLinear: boolean;
}

export function LaneLegend({ trial, spans, hasEvidence, hasMoment, isLinear }: LaneLegendProps) {
  const left = trial.body.events - trial.log.length;
  return (
    <p class="legend muted">
      <Key name="by-agent">done by the agent</Key>
      <Key name="">by others</Key>
      <Key name="by-both">by both</Key>
      {trial.log.some(hasPages) && <Key name="pages">with pages</Key>}
      <Key name="several">several events: press for the list</Key>
      {!isLinear && <Key name="lane-break">time passes, drawn short</Key>}
      {hasMoment && <Key name="is-moment">moment of time travel</Key>}
      {spans.some(({ sort }) => sort === "hold") && <Key name="is-hold">on hold</Key>}
      {trial.body.marks.some(({ passed }) => !passed) && <Key name="is-cited">cited by a failed criterion</Key>}
      {hasEvidence && <Key name="is-evidence">evidence of the chosen criterion</Key>}
      {listTroubles(trial.log).map(({ kind, icon, word }) => (
        <span class={kind}>
          <Icon name={icon} />
          {word}
        </span>
      ))}
      {left > 0 && <span>{`${plural(left, "event")} not shown, see the timeline`}</span>}
    </p>
  );
}

function Key({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <span>
      <i class={`lane-key ${name}`} />
      {children}
    </span>
  );
}
