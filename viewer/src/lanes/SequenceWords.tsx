// The steps of a sequence in words.
import { Coded } from "../parts/Coded";
import type { OpenTrial } from "../trial";
import { EventLink } from "../trial/EventLink";
import { Linked } from "../trial/Linked";
import type { Sequence } from "./sequences";

export function SequenceWords({ trial, sequence: { criterion, place, steps } }: { trial: OpenTrial; sequence: Sequence }) {
  return (
    <>
      <h4>
        {"Steps of "}
        <a href={`#t${trial.number}k${place}`}>
          <Coded text={criterion.label} />
        </a>
      </h4>
      <ol>
        {steps.map(({ number, outcome, word, text, seq, found }) => (
          <li class={`is-${outcome}`}>
            <span class="step-badge">{number}</span>
            <span>
              <b>{word}</b>
              {": "}
              <Coded text={text} />
              {seq !== null && (
                <>
                  {found ? " " : " · see "}
                  <EventLink trial={trial} seq={seq} />
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
      {!criterion.passed && (
        <p class="sentence">
          <Linked text={criterion.detail} trial={trial} />
        </p>
      )}
    </>
  );
}
