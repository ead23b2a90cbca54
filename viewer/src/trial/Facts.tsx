// How a trial ended, what it took, and its score by axis.
import type { ComponentChildren } from "preact";
import type { Body, Json } from "../data";
import { Coded } from "../parts/Coded";
import { Command } from "../parts/Command";
import { CopyButton } from "../parts/CopyButton";
import { plainValue } from "../parts/values";
import { lasting, plural } from "../parts/words";
import { useRun } from "../run/RunContext";
import type { OpenTrial } from "../trial";

export function Facts({ trial }: { trial: OpenTrial }) {
  const { body } = trial;
  const run = useRun();
  // The run of a report may be in no store of its reader.
  const command = run.source.isEmbedded ? "" : run.showCommand(trial, "--criteria");
  const entries: [string, ComponentChildren][] = [
    ["Status", body.status],
    ["Ending", body.ending],
  ];
  if (body.answer !== null) entries.push(["Answer", <Written value={body.answer} />]);
  for (const [name, value] of Object.entries(body.facts)) {
    if (name === "wall_ms") entries.push(["Took", lasting(Number(value) / 1000)]);
    else entries.push([name.replaceAll("_", " "), <Written value={value} />]);
  }
  if (body.models) entries.push(["Models", body.models]);
  const log = (
    <>
      {plural(body.events, "event")}, SHA-256 <code title={body.head}>{body.head.slice(0, 12)}</code> <CopyButton text={body.head} what="the whole hash" />
    </>
  );
  entries.push(["Log", log]);
  if (command) entries.push(["The same on the command line", <Command line={command} />]);
  const hasAxes = body.axes.length > 1 || (body.axes[0] && body.axes[0].name !== "__default__");
  return (
    <div class="about">
      <dl>
        {entries.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {hasAxes && <Axes axes={body.axes} />}
    </div>
  );
}

function Written({ value }: { value: Json }) {
  return (
    <span class="value">
      <Coded text={plainValue(value)} />
    </span>
  );
}

function Axes({ axes }: { axes: Body["axes"] }) {
  return (
    <table class="axes">
      <caption>Score by axis</caption>
      <tbody>
        {axes.map((axis) => {
          const name = axis.name === "__default__" ? "other criteria" : axis.name;
          const score = axis.score.toFixed(2);
          return (
            <tr>
              <th scope="row">{name}</th>
              <td>
                <meter min={0} max={1} low={0.5} high={0.9} optimum={1} value={axis.score} aria-label={`${name} ${score}`} />
              </td>
              <td class="number">{score}</td>
              <td class="muted">{`weight ${axis.weight}`}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
