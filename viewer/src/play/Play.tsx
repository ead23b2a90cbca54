// A task that a person does: the task, the sandboxes, the clock, and in the end the verdict.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Command } from "../parts/Command";
import { AnswerForm } from "./AnswerForm";
import { CallContext } from "./calls";
import { Clock } from "./Clock";
import { Conversation } from "./Conversation";
import { JsonTree } from "./JsonTree";
import { OwnLog } from "./OwnLog";
import { getJson, RequestFailed, sendJson } from "../server";
import { SandboxTabs } from "./SandboxTabs";
import { ToolList } from "./ToolList";
import { isMap, type Json, type JsonMap, type PlayEvent, type Reply, type State, textOf, type Tools } from "./types";
import { Verdict } from "./Verdict";

const POLL_MS = 1000;

export function Play({ prefix, title }: { prefix: string; title: string }) {
  const data = `${prefix}/data/play`;
  const [state, setState] = useState<State | null>(null);
  const [events, setEvents] = useState<PlayEvent[]>([]);
  const [tools, setTools] = useState<Tools | null>(null);
  const [error, setError] = useState("");
  const seen = useRef(0);
  const running = useRef<Promise<void> | null>(null);

  /** Reads what is new. Callers that overlap share one request, so that no event is taken twice. */
  const refresh = useCallback((): Promise<void> => {
    running.current ??= (async () => {
      try {
        const next = await getJson<State>(`${data}?after=${seen.current}`);
        if (next.events.length) {
          seen.current = next.events.at(-1)?.seq ?? seen.current;
          setEvents((before) => [...before, ...next.events]);
        }
        setState(next);
        setError("");
      } catch (failure) {
        setError((failure as Error).message);
      } finally {
        running.current = null;
      }
    })();
    return running.current;
  }, [data]);

  const isOver = state?.state === "over";
  useEffect(() => {
    if (isOver) return undefined;
    void refresh();
    const timer = setInterval(() => void refresh(), POLL_MS);
    return () => clearInterval(timer);
  }, [isOver, refresh]);
  const hasStarted = state?.question != null;
  useEffect(() => {
    if (hasStarted) getJson<Tools>(`${data}/tools`).then(setTools, (failure: Error) => setError(failure.message));
  }, [hasStarted, data]);

  const call = useCallback(
    async (tool: string, args: JsonMap): Promise<Reply> => {
      try {
        return await sendJson<Reply>("POST", `${data}/call`, { tool, arguments: args });
      } finally {
        void refresh();
      }
    },
    [data, refresh],
  );
  const send = async (path: string, body: object): Promise<boolean> => {
    try {
      await sendJson<object>("POST", `${data}/${path}`, body);
      return true;
    } catch (failure) {
      setError(failure instanceof RequestFailed ? failure.message : String(failure));
      return false;
    } finally {
      void refresh();
    }
  };

  if (!state) return <Opening title={title} error={error} />;
  const waits = state.state === "task" || state.state === "turn";
  const question = state.question;
  const usable = tools ? tools.sandboxes.filter((each) => each.tools.length) : [];
  return (
    <CallContext.Provider value={call}>
      <header class="play-header">
        <div class="title">
          <p class="kicker">Play</p>
          <h1>{state.task}</h1>
        </div>
        {!isOver && <GiveUp disabled={!waits} giveUp={() => send("give-up", {})} left={state.seconds_left} />}
      </header>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {state.result && <Verdict result={state.result} prefix={prefix} />}
      <div class="columns">
        <div class="left">
          <section class="card task" aria-label="Task" tabIndex={0}>
            {question ? <TaskItem item={question.task_item} talks={question.type === "turn"} /> : <p class="muted">The scenario is being set up.</p>}
          </section>
          {question?.type === "task" && !isOver && (
            <section class="card" aria-label="Your answer">
              <AnswerForm send={(answer: Json) => send("answer", { answer })} disabled={!waits} />
            </section>
          )}
          {!isOver && (
            <section class="card">
              <Clock now={state.now} disabled={!waits} />
            </section>
          )}
        </div>
        <div class="right">
          {question?.type === "turn" && (
            <Conversation question={question} events={events} waits={waits} isOver={isOver} reply={(text) => send("answer", { say: text ?? [] })} />
          )}
          {!isOver && usable.length > 0 && <SandboxTabs sandboxes={usable} />}
          {!isOver && tools && question?.type === "turn" && (
            <section class="card" aria-label="Report">
              <ToolList tools={tools.reports} title="Report what you decided: slots, flows, actions" />
            </section>
          )}
          <OwnLog events={events} />
          {state.command && (
            <p class="command">
              The same on the command line: <Command line={state.command} />
            </p>
          )}
        </div>
      </div>
    </CallContext.Provider>
  );
}

function Opening({ title, error }: { title: string; error: string }) {
  return (
    <>
      <h1>{title}</h1>
      <p class={error ? "error" : "muted"}>{error || "…"}</p>
    </>
  );
}

function TaskItem({ item, talks }: { item: Json; talks: boolean }) {
  const map = isMap(item) ? item : {};
  const rest = Object.fromEntries(Object.entries(map).filter(([name]) => name !== "instruction"));
  return (
    <>
      <h2>Task</h2>
      {talks && !item && <p>A person talks to you. Reply as the agent should.</p>}
      {map["instruction"] !== undefined && <p class="instruction">{textOf(map["instruction"])}</p>}
      {Object.keys(rest).length > 0 && <JsonTree value={rest} />}
      {item !== null && !isMap(item) && <JsonTree value={item} />}
    </>
  );
}

interface GiveUpProps {
  disabled: boolean;
  giveUp: () => Promise<boolean>;
  left: number;
}

function GiveUp({ disabled, giveUp, left }: GiveUpProps) {
  const [asks, setAsks] = useState(false);
  const minutes = Math.floor(left / 60);
  return (
    <div class="give-up">
      <span class="muted">{minutes >= 120 ? `${Math.floor(minutes / 60)} h left` : `${minutes} min left`}</span>
      {asks ? (
        <>
          <span>It counts as failed.</span>
          <button type="button" class="danger" disabled={disabled} onClick={giveUp}>
            Give up
          </button>
          <button type="button" onClick={() => setAsks(false)}>
            Go on
          </button>
        </>
      ) : (
        <button type="button" disabled={disabled} onClick={() => setAsks(true)}>
          Give up…
        </button>
      )}
    </div>
  );
}
