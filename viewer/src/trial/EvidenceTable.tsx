// Evidence as a table: what was expected beside what was found.
import type { ComponentChildren } from "preact";
import type { Check, Criterion } from "../data";
import { Breakable } from "../parts/Breakable";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import { Expected } from "../parts/Value";
import { plainValue } from "../parts/values";
import { plural } from "../parts/words";
import type { OpenTrial } from "../trial";
import { CallLink } from "./CallLink";
import { EventLink } from "./EventLink";

const ROW_WORDS = { fail: "not as expected: ", skipped: "not checked: ", pass: "as expected: " };
/** What stands for a step of `sequencing` behind a missing one. */
const NOT_REACHED = "(not reached)";

interface EvidenceTableProps {
  criterion: Criterion;
  evidence: Check[];
  trial: OpenTrial;
}

export function EvidenceTable({ criterion, evidence, trial }: EvidenceTableProps) {
  return (
    <>
      <table class="evidence">
        <thead>
          <tr>
            {["Field", "Expected", "Actual", "Event"].map((title) => (
              <th scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {evidence.map((check) => (
            <>
              <EvidenceRow check={check} trial={trial} />
              <Differences check={check} trial={trial} />
            </>
          ))}
        </tbody>
      </table>
      {criterion.evidence_left_out > 0 && <p class="muted">{`${plural(criterion.evidence_left_out, "more row")} of evidence not shown.`}</p>}
    </>
  );
}

function EvidenceRow({ check, trial }: { check: Check; trial: OpenTrial }) {
  const outcome = check.passed ? "pass" : check.actual === NOT_REACHED ? "skipped" : "fail";
  return (
    <tr class={`is-${outcome}`}>
      <th scope="row">
        <Icon name={outcome} />
        <span class="hidden">{ROW_WORDS[outcome]}</span>
        <span>
          <Breakable path={check.path} />
        </span>
      </th>
      <td data-label="Expected">
        <Whole isFolded={Boolean(check.differences)}>
          <Expected value={check.expected} />
        </Whole>
      </td>
      <td data-label="Actual">
        <Whole isFolded={Boolean(check.differences)}>
          <div class="value actual">
            <Coded text={plainValue(check.actual)} />
          </div>
        </Whole>
      </td>
      <td class="at">
        {check.seq && (
          <>
            <EventLink trial={trial} seq={check.seq} />
            <CallLink trial={trial} seq={check.seq} />
          </>
        )}
      </td>
    </tr>
  );
}

/** A value that is folded, because its differences stand below. */
function Whole({ isFolded, children }: { isFolded: boolean; children: ComponentChildren }) {
  if (!isFolded) return <>{children}</>;
  return (
    <details>
      <summary>whole value</summary>
      {children}
    </details>
  );
}

/** Of two nested values that differ: a row for each path, and how many more there are. */
function Differences({ check, trial }: { check: Check; trial: OpenTrial }) {
  const left = check.differences_left_out ?? 0;
  return (
    <>
      {(check.differences ?? []).map(({ path, expected, actual }) => (
        <EvidenceRow check={{ path: `${check.path}: ${path}`, expected, actual, passed: false, seq: null }} trial={trial} />
      ))}
      {left > 0 && (
        <tr class="is-fail">
          <td colSpan={4} class="muted">{`${plural(left, "more difference")} not shown.`}</td>
        </tr>
      )}
    </>
  );
}
