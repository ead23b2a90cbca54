import { Coded } from "../parts/Coded";
import { moment } from "../parts/times";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { EventLink } from "./EventLink";

export function VoicemailsSection({ trial }: { trial: OpenTrial }) {
  const { voicemails = [], voicemails_left_out: left = 0 } = trial.body;
  if (!voicemails.length) return null;
  return (
    <section class="voicemails">
      <h3>Voicemails</h3>
      <ul>
        {voicemails.map((one) => (
          <li class="voicemail">
            <p class="who">
              <b>{one.mailbox}</b>
              {` from ${[one.name, one.from].filter(Boolean).join(" ") || "an unknown number"} · ${moment(trial.body.zone, one.at)} · ${one.seconds} s · `}
              <EventLink trial={trial} seq={one.seq} />
            </p>
            {one.before_beep && (
              <p class="before-beep">
                <b>Before the beep, not recorded: </b>
                <s>{one.before_beep}</s>
              </p>
            )}
            <p class="bubble">{one.text ? <Coded text={one.text} /> : "(nothing was said after the beep)"}</p>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="left-out">{`${plural(left, "more voicemail")} not shown.`}</p>}
    </section>
  );
}
