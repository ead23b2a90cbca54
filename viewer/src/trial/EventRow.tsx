// One event of the timeline; a press opens what it holds.
import type { LogEvent } from "../data";
import { Icon } from "../parts/Icon";
import { memo } from "../parts/memo";
import { Time } from "../parts/Time";
import { classes } from "../parts/words";
import type { OpenTrial } from "../trial";
import { CitedBy } from "./CitedBy";
import { EventLink } from "./EventLink";
import { EventPanel } from "./EventPanel";
import { doerOf } from "./doer";
import { Gist } from "./Gist";
import { SitePage, sitePageSource, sitePageTitle } from "./SitePage";
import { Thumbnails } from "./Thumbnails";
import { troubleOf, type Trouble } from "./trouble";

interface EventRowProps {
  trial: OpenTrial;
  event: LogEvent;
  /** The events that are here; with more of them, more numbers are links. */
  log: LogEvent[];
  lane: number;
  isOpen: boolean;
  isPageOpen: boolean;
  isAimed: boolean;
  toggle: (seq: number) => void;
  togglePage: (seq: number) => void;
}

export const EventRow = memo(function EventRow({ trial, event, lane, isOpen, isPageOpen, isAimed, toggle, togglePage }: EventRowProps) {
  const trouble = troubleOf(event);
  const page = sitePageSource(event, trial.content.assets);
  const title = page ? sitePageTitle(event) : "";
  return (
    <li class={classes("event", trouble?.kind, isAimed && "aimed")} id={`t${trial.number}e${event.seq}`} data-seq={event.seq} data-lane={event.source}>
      <Time zone={trial.body.zone} at={event.at} />
      <Track event={event} lane={lane} trouble={trouble} />
      <div class="what">
        <button type="button" class="toggle" aria-expanded={isOpen} onClick={() => toggle(event.seq)}>
          <span class="number">{`#${event.seq}`}</span>
          <span class="lane">{event.source}</span>
          {trouble && (
            <span class={`badge ${trouble.kind}`}>
              <Icon name={trouble.icon} />
              {trouble.word}
            </span>
          )}
          <code>{event.kind}</code>{" "}
          <span class="gist">
            <Gist event={event} />
          </span>
        </button>
        {event.cause && (
          <span class="because">
            {"because of "}
            <EventLink trial={trial} seq={event.cause} />
          </span>
        )}
        <CitedBy trial={trial} seq={event.seq} />
        <Thumbnails trial={trial} event={event} />
        {page && (
          <button type="button" class="show-page" aria-expanded={isPageOpen} onClick={() => togglePage(event.seq)}>
            <span>{isPageOpen ? "Hide" : "Show"}</span>
            {` the page${title ? `: ${title}` : ""}`}
          </button>
        )}
        {isOpen && <EventPanel trial={trial} event={event} />}
      </div>
      {page && isPageOpen && (
        <div class="site-page">
          <SitePage source={page} title={title} />
        </div>
      )}
    </li>
  );
});

function Track({ event, lane, trouble }: { event: LogEvent; lane: number; trouble: Trouble | null }) {
  return (
    <span class="track" title={`${event.source}, by ${doerOf(event)}`} style={{ "--lane": String(lane) }}>
      {trouble ? (
        <i class={`mark ${trouble.kind}`}>
          <Icon name={trouble.icon} />
        </i>
      ) : (
        <i class={classes("dot", event.by_agent && "by-agent")} />
      )}
    </span>
  );
}
