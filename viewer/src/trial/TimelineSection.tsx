import { Icon } from "../parts/Icon";
import { classes, lasting, plural } from "../parts/words";
import { moment } from "../parts/times";
import { timeOf, type OpenTrial } from "../trial";
import { LeftOut } from "./LeftOut";
import { Timeline } from "./Timeline";
import { listTroubles } from "./trouble";

interface TimelineSectionProps {
  trial: OpenTrial;
  aim: { seq: number; withPage: boolean } | null;
  drawn: () => void;
}

export function TimelineSection({ trial, aim, drawn }: TimelineSectionProps) {
  if (!trial.log.length) {
    return (
      <section>
        <h3>Timeline</h3>
        <LeftOut trial={trial} />
      </section>
    );
  }
  return (
    <section>
      <div class="heading">
        <h3>Timeline</h3>
        <span class="muted">{describeSpan(trial)}</span>
      </div>
      <p class="legend muted">
        <span>
          <i class="dot by-agent" />
          done by the agent
        </span>
        <span>
          <i class="dot" />
          by others
        </span>
        {listTroubles(trial.log).map(({ kind, icon, word }) => (
          <span class={classes(kind)}>
            <Icon name={icon} />
            {word}
          </span>
        ))}
      </p>
      <Timeline trial={trial} aim={aim} drawn={drawn} />
      {trial.log.length < trial.body.events && <LeftOut trial={trial} />}
    </section>
  );
}

function describeSpan({ log, body }: OpenTrial): string {
  const first = log[0]!;
  const seconds = (timeOf(log.at(-1)!) - timeOf(first)) / 1000;
  return `${plural(log.length, "event")} over ${lasting(seconds)} of simulated time, from ${moment(body.zone, first.at)}`;
}
