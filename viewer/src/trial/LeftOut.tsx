// Events that are not on this page, and the command line that prints them.
import { plural } from "../parts/words";
import { useRun } from "../run/RunContext";
import type { OpenTrial } from "../trial";

export function LeftOut({ trial }: { trial: OpenTrial }) {
  const run = useRun();
  const { row, body, log } = trial;
  const missing = body.events - log.length;
  if (!run.source.isEmbedded) return missing > 0 ? <p class="left-out">{`${plural(missing, "event")} not loaded yet.`}</p> : <p class="left-out">There are no events.</p>;
  const task = /^[\w./-]+$/.test(row.task) ? row.task : `'${row.task.replaceAll("'", `'\\''`)}'`;
  const which = row.trial > 1 ? ` --trial ${row.trial}` : "";
  return (
    <p class="left-out">
      {`${plural(missing, "event")} not shown, to keep the page small; `}
      <code>{`${run.command} show ${run.run} ${task}${which} --events`}</code>
      {` prints ${missing === 1 ? "it" : "them"}.`}
    </p>
  );
}
