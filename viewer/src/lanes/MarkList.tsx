// The events that share a mark, as links.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/Icon";
import { clock } from "../parts/times";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { EventLink } from "../trial/EventLink";
import { gistText } from "../trial/Gist";
import { troubleOf } from "../trial/trouble";
import type { Lane } from "./lanes";
import type { MarkGroup } from "./mark_groups";

const MOST_LISTED = 40;

interface MarkListProps {
  trial: OpenTrial;
  lane: Lane;
  group: MarkGroup;
  close: () => void;
}

export function MarkList({ trial, lane, group: { events }, close }: MarkListProps) {
  const heading = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    heading.current!.parentElement!.scrollIntoView({ block: "nearest" });
    heading.current!.focus({ preventScroll: true });
  }, [events]);
  const rest = events.slice(MOST_LISTED);
  return (
    <>
      <div class="heading" tabIndex={-1} ref={heading}>
        <b>{`${plural(events.length, "event")} of ${lane.name}`}</b>
        <button type="button" class="quiet push" onClick={close}>
          Close
        </button>
      </div>
      <ol>
        {events.slice(0, MOST_LISTED).map((event) => {
          const trouble = troubleOf(event);
          return (
            <li>
              {clock(trial.body.zone, event.at)} <EventLink trial={trial} seq={event.seq} />{" "}
              {trouble && (
                <>
                  <Icon name={trouble.icon} />
                  {` ${trouble.word} `}
                </>
              )}
              <code>{event.kind}</code>
              {` ${gistText(event)}`}
            </li>
          );
        })}
      </ol>
      {rest.length > 0 && (
        <p class="muted">
          {`and ${plural(rest.length, "more event")}, in the timeline from `}
          <EventLink trial={trial} seq={rest[0]!.seq} />
        </p>
      )}
    </>
  );
}
