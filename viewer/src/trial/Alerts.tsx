// What a reader must know before the verdict: errors of the platform, of the agent and of the person.
import type { ComponentChildren } from "preact";
import { Coded } from "../parts/Coded";
import { Icon } from "../parts/Icon";
import type { OpenTrial } from "../trial";
import { EventLink } from "./EventLink";
import { BROKE } from "./messages";

interface AlertProps {
  title: string;
  meaning: string;
  text: string;
  outcome?: string;
  children?: ComponentChildren;
}

function Alert({ title, meaning, text, outcome = "errored", children }: AlertProps) {
  return (
    <div class={`alert is-${outcome}`} role="note">
      <Icon name={outcome} />
      <div>
        <h3>{title}</h3>
        <p>{meaning}</p>
        <pre tabIndex={0}>
          <Coded text={text} />
        </pre>
        {children}
      </div>
    </div>
  );
}

export function Alerts({ trial }: { trial: OpenTrial }) {
  const { error, verdict, missed, agent_error: agentError, notes } = trial.body;
  const isPerson = trial.row.outcome === "invalid_person";
  const noVerdict = verdict ? "" : " This trial has no verdict and is not in the rate.";
  return (
    <>
      {error && isPerson && <PersonAlert trial={trial} />}
      {error && missed && (
        <Alert
          title="Not recorded"
          meaning="The trial differs from the recording and needs an answer that was not recorded. This trial has no verdict and is not in the rate."
          text={error}
        />
      )}
      {error && !missed && !isPerson && <Alert title="Platform error" meaning={`The agent is not at fault.${noVerdict}`} text={error} />}
      {agentError && (
        <Alert
          title="The agent crashed"
          meaning={`It raised an error or returned an invalid answer${verdict ? ", so the verdict is fail" : ""}. The criteria were checked as they were then.`}
          text={agentError}
          outcome="fail"
        />
      )}
      {notes && <Alert title="Note" meaning="This does not change the verdict." text={notes.join("\n")} outcome="partial" />}
    </>
  );
}

/** Shows the rejected line with the rule it breaks, and links to its place in the conversation. */
function PersonAlert({ trial }: { trial: OpenTrial }) {
  const broke = trial.log.find((event) => event.kind === BROKE);
  const line = broke?.payload.would_have_said;
  return (
    <Alert
      title="The person, not the agent"
      meaning="The simulated person did not keep to their role. There is no verdict on the agent, and this trial is not in the rate."
      text={trial.body.error}
    >
      {broke && (
        <p>
          {typeof line === "string" && line && (
            <>
              Not said:{" "}
              <q>
                <Coded text={line} />
              </q>{" "}
            </>
          )}
          <EventLink trial={trial} seq={broke.seq} />
        </p>
      )}
    </Alert>
  );
}
