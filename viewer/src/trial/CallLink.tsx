// A link from the evidence to the place in a call, if the event is one that a call shows.
import type { Body } from "../data";
import type { OpenTrial } from "../trial";

const known = new WeakMap<Body, Set<number>>();

function listMoments(body: Body): Set<number> {
  let moments = known.get(body);
  if (!moments) {
    moments = new Set((body.calls ?? []).flatMap((call) => call.moments.map(({ seq }) => seq)));
    known.set(body, moments);
  }
  return moments;
}

export function CallLink({ trial, seq }: { trial: OpenTrial; seq: number }) {
  if (!listMoments(trial.body).has(seq)) return null;
  return (
    <>
      {" "}
      <a class="in-call" href={`#t${trial.number}m${seq}`} title="in the transcript of the call">
        call
      </a>
    </>
  );
}
