// Phone calls: the far end above, the agent below, over time; then what the criteria found, and the transcript.
import type { Call } from "../data";
import { Coded } from "../parts/Coded";
import { moment } from "../parts/times";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { CallFindings } from "./CallFindings";
import { CallStrip } from "./CallStrip";
import { EventLink } from "./EventLink";
import { Transcript } from "./Transcript";

const OPEN_TRANSCRIPTS = 3;

export function callTitle(call: Call): string {
  return `${call.direction === "outbound" ? "Call to" : "Call from"} ${call.name || call.number}`;
}

export function CallsSection({ trial }: { trial: OpenTrial }) {
  const { calls = [], calls_left_out: left = 0 } = trial.body;
  if (!calls.length) return null;
  const total = calls.length + left;
  return (
    <section class="calls">
      <div class="heading">
        <h3>{total === 1 ? "Phone call" : "Phone calls"}</h3>
        {total > 1 && <span class="muted">{plural(total, "call")}</span>}
      </div>
      {calls.map((call, place) => (
        <CallCard trial={trial} call={call} isOpen={place < OPEN_TRANSCRIPTS} />
      ))}
      {left > 0 && <p class="left-out">{`${plural(left, "more call")} not shown. Calls that a criterion names come first.`}</p>}
    </section>
  );
}

function CallCard({ trial, call, isOpen }: { trial: OpenTrial; call: Call; isOpen: boolean }) {
  const title = callTitle(call);
  const left = call.moments_left_out;
  return (
    <article class="call" id={`t${trial.number}c${call.seq}`} aria-label={title}>
      <div class="heading">
        <h4>
          <Coded text={title} />
        </h4>
        <span class="muted">
          {[call.name ? call.number : "", moment(trial.body.zone, call.at), call.source].filter(Boolean).join(" · ")} · <EventLink trial={trial} seq={call.seq} />
        </span>
      </div>
      <dl class="call-measures">
        <div class={call.is_completed ? "" : "odd"}>
          <dt>Outcome</dt>
          <dd>{call.ending}</dd>
        </div>
        {call.measures.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {call.moments.some(({ sort }) => sort === "speech" || sort === "keys") && <CallStrip trial={trial} call={call} title={title} />}
      <CallFindings trial={trial} call={call} />
      {call.moments.length > 0 && (
        <details class="transcript-fold" open={isOpen}>
          <summary>Transcript</summary>
          <Transcript trial={trial} call={call} />
        </details>
      )}
      {left > 0 && <p class="left-out">{`${plural(left, "more moment")} of this call not shown, to keep the page small.`}</p>}
    </article>
  );
}
