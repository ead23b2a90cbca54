// What the criteria found in a call: each with the places it names, which are marked in the drawing with its number.
import type { Call, Finding } from "../data";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { momentId } from "./call_moments";
import { Flag } from "./Flags";

export function CallFindings({ trial, call }: { trial: OpenTrial; call: Call }) {
  if (!call.findings.length) return null;
  return (
    <div class="call-findings">
      <h5>What the criteria found</h5>
      <ol>
        {call.findings.map((finding, number) => (
          <li class={`is-${finding.passed ? "pass" : "fail"}`}>
            <Flag number={number + 1} passed={finding.passed} />
            <div>
              <a href={`#t${trial.number}k${finding.criterion}`}>
                <Coded text={finding.label} />
              </a>
              <ul>
                {finding.places.map((place) => (
                  <Place trial={trial} call={call} place={place} />
                ))}
                {finding.places_left_out > 0 && <li>{`and ${plural(finding.places_left_out, "more place")}`}</li>}
              </ul>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Place({ trial, call, place }: { trial: OpenTrial; call: Call; place: Finding["places"][number] }) {
  const moment = call.moments.find(({ seq }) => seq === place.seq);
  const outcome = place.passed ? "pass" : "fail";
  return (
    <li class={`is-${outcome}`}>
      <Icon name={outcome} />
      <span class="hidden">{place.passed ? "as expected: " : "not as expected: "}</span>
      <Coded text={`${place.text} `} />
      {!place.is_call && (moment ? <a href={`#${momentId(trial, moment)}`}>{moment.start}</a> : `#${place.seq}`)}
    </li>
  );
}
