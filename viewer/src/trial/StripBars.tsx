// What one end says, as bars. The text of a bar that is too short for it stands beside the bar, if there is space.
import type { Call, StripBar } from "../data";
import { Coded } from "../parts/Coded";
import { classes } from "../parts/words";
import type { OpenTrial } from "../trial";
import { areCitedAsExpected, describeMoment, momentId } from "./call_moments";
import { Flags } from "./Flags";
import { placed } from "./StripRow";

const MOST_BESIDE = 12;
const LEAST_SPACE = 8;
const BAR_LINES = 5;

/** Whether a text is likely to fit in a bar, of a width in percent, at the least width of a row, with its words whole. */
function fits(text: string, width: number): boolean {
  const characters = Math.floor((width * 7.5 - 13) / 7);
  let [lines, column] = [1, 0];
  for (const { length } of text.split(/\s+/)) {
    if (length > characters) return text.length < 3;
    if (column && column + 1 + length > characters) [lines, column] = [lines + 1, 0];
    column += length + (column ? 1 : 0);
  }
  return lines <= BAR_LINES;
}

export function StripBars({ trial, call, bars }: { trial: OpenTrial; call: Call; bars: StripBar[] }) {
  return (
    <>
      {bars.map((bar, place) => (
        <Bar trial={trial} call={call} bar={bar} next={bars[place + 1]} />
      ))}
    </>
  );
}

function Bar({ trial, call, bar, next }: { trial: OpenTrial; call: Call; bar: StripBar; next: StripBar | undefined }) {
  const moment = call.moments[bar.at]!;
  const cited = areCitedAsExpected([moment]);
  const text = bar.began ? "…" : moment.text;
  const end = bar.x + bar.width;
  const space = (next ? next.x : 100) - end;
  const room = `${"flags ".repeat(moment.marks?.length ?? 0)}${text}`;
  const isBeside = bar.width < MOST_BESIDE && space > LEAST_SPACE && !fits(room, bar.width);
  const name = classes(
    "strip-bar",
    moment.is_by_agent ? "by-agent" : "far",
    moment.speaker === "Line" && "machine",
    moment.is_cut && !bar.goes_on && "cut",
    moment.note && "unheard",
    bar.goes_on && "goes-on",
    bar.began && "began",
    cited !== null && `cited-${cited ? "pass" : "fail"}`,
  );
  return (
    <>
      <a class={name} href={`#${momentId(trial, moment)}`} title={describeMoment(moment)} style={placed(bar)}>
        {!isBeside && (
          <span class="strip-words">
            <Flags moments={[moment]} />
            <Coded text={text} />
          </span>
        )}
      </a>
      {isBeside && (
        <span class="strip-beside" style={placed({ x: end, width: Math.min(space - 0.5, 21) })}>
          <Coded text={text} />
          {moment.note && <i>{` (${moment.note})`}</i>} <Flags moments={[moment]} />
        </span>
      )}
    </>
  );
}
