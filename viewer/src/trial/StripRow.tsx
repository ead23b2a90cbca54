// One row of the drawing of a call: nodes, what the far end says, labels, what the agent says, and seconds.
import type { Call, Placed, StripBar, StripLabel, StripRow as Row } from "../data";
import { Coded } from "../parts/Coded";
import { classes } from "../parts/words";
import type { OpenTrial } from "../trial";
import { areCitedAsExpected, describeMoment, momentId } from "./call_moments";
import { Flags } from "./Flags";
import { KeyCaps } from "./KeyCaps";
import { StripBars } from "./StripBars";

const LABEL_KINDS: Record<string, string> = {
  hold: "held",
  keys: "by-agent",
  transfer: "change",
  verified: "good",
  rejected: "bad",
  beep: "change",
  voicemail: "good",
  ended: "end",
  answered: "change",
};

/** The place of an element as properties that calls.css reads. */
export function placed({ x, width, level }: Placed): Record<string, string> {
  const style: Record<string, string> = { "--x": String(x) };
  if (width !== undefined) style["--width"] = String(width);
  if (level !== undefined) style["--level"] = String(level);
  return style;
}

interface StripRowProps {
  trial: OpenTrial;
  call: Call;
  row: Row;
}

export function StripRow({ trial, call, row }: StripRowProps) {
  const shared = { trial, call };
  const bars = (isAgent: boolean) => row.bars.filter(({ at }) => call.moments[at]!.is_by_agent === isAgent);
  const levels = (labels: StripLabel[]) => ({ "--levels": String(Math.max(0, ...labels.map(({ level }) => level + 1))) });
  return (
    <div class="strip-row">
      <div class="strip-area" style={{ width: `${row.width}%`, "--scale": String(100 / row.width) }}>
        {row.holds.map((hold) => (
          <i class="strip-hold" title={describeMoment(call.moments[hold.at]!)} style={placed(hold)} />
        ))}
        <div class="strip-nodes" style={levels(row.nodes)}>
          {row.nodes.map((label) => (
            <Label {...shared} label={label} kind="node" />
          ))}
        </div>
        <Lane {...shared} name="Far end" bars={bars(false)} />
        <div class="strip-labels" style={levels(row.labels)}>
          {row.labels.map((label) => (
            <>
              <i class="strip-moment" aria-hidden="true" style={placed({ x: label.tick })} />
              <Label {...shared} label={label} kind={LABEL_KINDS[call.moments[label.moments[0]!]!.sort] ?? ""} />
            </>
          ))}
        </div>
        <Lane {...shared} name="Agent" bars={bars(true)} />
        <div class="strip-axis" aria-hidden="true">
          {row.ticks.map((tick) => (
            <span class="strip-tick" style={placed(tick)}>
              {tick.text}
            </span>
          ))}
          {row.gaps.map((gap) => (
            <span class="strip-gap" title={`${gap.text} drawn short`} style={placed(gap)}>
              {gap.text}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}

function Lane({ trial, call, name, bars }: { trial: OpenTrial; call: Call; name: string; bars: StripBar[] }) {
  return (
    <div class={classes("strip-lane", !bars.length && "empty")} data-name={name}>
      <StripBars trial={trial} call={call} bars={bars} />
    </div>
  );
}

function Label({ trial, call, label, kind }: { trial: OpenTrial; call: Call; label: StripLabel; kind: string }) {
  const moments = label.moments.map((place) => call.moments[place]!);
  const first = moments[0]!;
  const cited = areCitedAsExpected(moments);
  return (
    <a
      class={classes("strip-label", kind, `sort-${first.sort}`, cited !== null && `cited-${cited ? "pass" : "fail"}`)}
      href={`#${momentId(trial, first)}`}
      title={moments.map(describeMoment).join("\n")}
      style={placed(label)}
    >
      {first.sort === "keys" ? <KeyCaps digits={label.text} /> : <Coded text={label.text} />}
      <Flags moments={moments} />
    </a>
  );
}
