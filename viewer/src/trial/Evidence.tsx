// What a verdict stands on. Of a model it is told as such: places it cites, votes, who it was. The rest is compared.
import type { Check, Criterion, Json, JsonMap } from "../data";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { isMap, oneLine } from "../parts/values";
import type { OpenTrial } from "../trial";
import { EventLink } from "./EventLink";
import { EvidenceTable } from "./EvidenceTable";
import { Linked } from "./Linked";

function findJudge(evidence: Check[]): JsonMap | null {
  const judge = evidence.find(({ path, actual }) => path === "judge" && isMap(actual) && actual.model);
  return judge && isMap(judge.actual) ? judge.actual : null;
}

/** Whether a model judged a criterion. */
export function isJudged(criterion: Criterion): boolean {
  return findJudge(criterion.evidence) !== null;
}

function isCite({ path, expected }: Check): boolean {
  return /^(T\d+(\.\d+)?|#\d+(\.\.#\d+)?)$/.test(path) && isMap(expected) && typeof expected.contains === "string";
}

export function Evidence({ criterion, trial }: { criterion: Criterion; trial: OpenTrial }) {
  const { evidence } = criterion;
  const judge = findJudge(evidence);
  if (!evidence.length) return <p class="muted">No evidence was recorded.</p>;
  if (!judge) return <EvidenceTable criterion={criterion} evidence={evidence} trial={trial} />;
  const cites = evidence.filter(isCite);
  const votes = evidence.find(({ path, actual }) => path === "votes" && isMap(actual) && Array.isArray(actual.each));
  const rest = evidence.filter((check) => check.actual !== judge && check !== votes && !cites.includes(check));
  const parameters = isMap(judge.parameters) ? judge.parameters : {};
  return (
    <>
      {cites.length > 0 && (
        <ul class="cites">
          {cites.map((cite) => (
            <Cite cite={cite} trial={trial} />
          ))}
        </ul>
      )}
      {votes && isMap(votes.actual) && <Votes votes={votes.actual} trial={trial} />}
      {rest.length > 0 && <EvidenceTable criterion={criterion} evidence={rest} trial={trial} />}
      <p class="assertion muted">
        Judge <code>{String(judge.model)}</code> · prompt <code>{String(judge.prompt)}</code>
        {Object.keys(parameters).length > 0 && (
          <>
            {" · "}
            <code>{oneLine(JSON.stringify(parameters), 300)}</code>
          </>
        )}
      </p>
    </>
  );
}

function Cite({ cite: { path, expected, seq }, trial }: { cite: Check; trial: OpenTrial }) {
  const { contains, moved_from: before } = expected as JsonMap;
  return (
    <li>
      <b>{path}</b>{" "}
      <q>
        <Coded text={String(contains)} />
      </q>{" "}
      {before && <span class="muted">{`moved from ${String(before)} `}</span>}
      {seq && <EventLink trial={trial} seq={seq} />}
    </li>
  );
}

const CAST = { pass: "pass", fail: "fail", errored: "not cast" };

function Votes({ votes, trial }: { votes: JsonMap; trial: OpenTrial }) {
  const each = (Array.isArray(votes.each) ? votes.each : []).filter(isMap);
  const word = (vote: JsonMap) => ("error" in vote ? "errored" : vote.passed ? "pass" : "fail");
  return (
    <details class="votes" open={Boolean((votes.for && votes.against) || votes.not_cast)}>
      <summary>{`Votes: ${count(votes.for)} pass, ${count(votes.against)} fail${votes.not_cast ? `, ${count(votes.not_cast)} not cast` : ""}`}</summary>
      <ol>
        {each.map((vote) => (
          <li class={`is-${word(vote)}`}>
            <Icon name={word(vote)} />
            <span>
              <b>{CAST[word(vote)]}</b> <Linked text={String(vote.reasoning || vote.error || "")} trial={trial} />
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function count(value: Json | undefined): string {
  return String(value);
}
