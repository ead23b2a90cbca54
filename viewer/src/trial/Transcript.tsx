// A call as a table. Nodes of a menu that follow each other share a row.
import type { ComponentChildren } from "preact";
import type { Call, CallMoment } from "../data";
import { Coded } from "../parts/Coded";
import type { OpenTrial } from "../trial";
import { momentId } from "./call_moments";
import { EventLink } from "./EventLink";
import { Flags } from "./Flags";
import { KeyCaps } from "./KeyCaps";

function groupNodes(moments: CallMoment[]): CallMoment[][] {
  const rows: CallMoment[][] = [];
  for (const moment of moments) {
    const last = rows.at(-1);
    if (moment.sort === "node" && last?.[0]?.sort === "node") last.push(moment);
    else rows.push([moment]);
  }
  return rows;
}

export function Transcript({ trial, call }: { trial: OpenTrial; call: Call }) {
  return (
    <table class="transcript">
      <thead>
        <tr>
          {["Start", "End", "Speaker", "Text"].map((title) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {groupNodes(call.moments).map((moments) => (
          <Row trial={trial} moments={moments} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ trial, moments }: { trial: OpenTrial; moments: CallMoment[] }) {
  const moment = moments[0]!;
  const end = moments.at(-1)!.end;
  const isNamed = moment.sort === "speech" || moment.sort === "keys" || moment.sort === "ended";
  return (
    <tr id={momentId(trial, moment)} class={`moment sort-${moment.sort} ${moment.is_by_agent ? "by-agent" : "far"}`}>
      <td class="number">{moment.start}</td>
      <td class="number">{end === moment.start ? "" : end}</td>
      {isNamed ? <th scope="row">{moment.speaker}</th> : <td />}
      <td>
        {wordsOf(trial, moments)}
        {moment.note && moment.sort !== "node" && <span class="muted">{` (${moment.note})`}</span>} {moment.sort !== "node" && <Flags moments={[moment]} />}{" "}
        <span class="at">
          <EventLink trial={trial} seq={moment.seq} />
        </span>
      </td>
    </tr>
  );
}

function wordsOf(trial: OpenTrial, moments: CallMoment[]): ComponentChildren {
  const moment = moments[0]!;
  if (moment.sort === "keys") return <KeyCaps digits={moment.text} />;
  if (moment.sort === "node") {
    return (
      <>
        menu{" "}
        {moments.map((node, place) => (
          <>
            {place > 0 && " › "}
            <code id={place ? momentId(trial, node) : undefined} title={node.note}>
              {node.text}
            </code>
            <Flags moments={[node]} />
          </>
        ))}
      </>
    );
  }
  if (moment.sort !== "speech") return <Coded text={moment.text} />;
  return (
    <>
      <Coded text={moment.text} />
      {moment.is_cut && <span class="cut-note"> ✂ cut short</span>}
      {moment.rest && (
        <>
          {" "}
          <s title="not said">
            <Coded text={moment.rest} />
          </s>
        </>
      )}
    </>
  );
}
