// What the evidence of failed criteria says of an event, shown where the event stands.
import type { EventMark } from "../data";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { oneLine } from "../parts/values";
import { groupBy } from "../parts/group_by";
import type { OpenTrial } from "../trial";

const known = new WeakMap<EventMark[], Map<number, EventMark[]>>();

/** The marks of a trial by event. */
export function marksByEvent({ body }: OpenTrial): Map<number, EventMark[]> {
  let marks = known.get(body.marks);
  if (!marks) {
    marks = groupBy(body.marks, ({ seq }) => seq);
    known.set(body.marks, marks);
  }
  return marks;
}

export function CitedBy({ trial, seq }: { trial: OpenTrial; seq: number }) {
  return (
    <>
      {(marksByEvent(trial).get(seq) ?? []).map((mark) => {
        const outcome = mark.passed ? "pass" : "fail";
        return (
          <span class={`cited is-${outcome}`}>
            <Icon name={outcome} />
            <span class="hidden">{mark.passed ? "as expected: " : "not as expected: "}</span>
            <Coded text={oneLine(mark.text, 90)} />
          </span>
        );
      })}
    </>
  );
}
