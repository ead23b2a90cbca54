// A telephone: dial, listen, press keys, speak, and read what was heard.
import { useState } from "preact/hooks";
import { useSandbox } from "./calls";
import { Text } from "./ChartPanel";
import { JsonTree } from "./JsonTree";
import { Transcript } from "./Transcript";
import { type JsonMap, type Sandbox, listOf, textOf } from "./types";

const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#"];

interface Line {
  who: "heard" | "said" | "pressed" | "note";
  text: string;
}

interface Call {
  id: string;
  to: string;
  status: string;
  lines: Line[];
}

export function PhonePanel({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error, busy } = useSandbox(sandbox);
  const [number, setNumber] = useState("");
  const [calls, setCalls] = useState<Record<string, Call>>({});
  const [current, setCurrent] = useState("");
  const [known, setKnown] = useState<JsonMap[] | null>(null);

  const add = (id: string, lines: Line[], status?: string, to = "") =>
    setCalls((before) => {
      const call = before[id] ?? { id, to, status: "", lines: [] };
      return { ...before, [id]: { ...call, status: status || call.status, lines: [...call.lines, ...lines] } };
    });
  const listen = async (id: string, operation = "hear", args: JsonMap = {}) => {
    const reply = await ask(operation, { id, ...args });
    if (!reply) return;
    const progress = listOf(reply["progress"]).map((each): Line => ({ who: "note", text: textOf(each["status"]) }));
    const heard = listOf(reply["heard"]).map((each): Line => ({ who: "heard", text: textOf(each["text"]) }));
    const lines = [...progress, ...heard];
    add(id, lines.length ? lines : [{ who: "note", text: "silence" }], textOf(reply["status"]));
  };
  const begin = async (operation: string, args: JsonMap, to: string) => {
    const call = await ask(operation, args);
    if (!call) return;
    const id = textOf(call["id"]);
    add(id, [], textOf(call["status"]), to);
    setCurrent(id);
    setKnown(null);
    await listen(id);
  };
  const act = async (operation: string, args: JsonMap, line: Line, listens = true) => {
    const reply = await ask(operation, { id: current, ...args });
    if (!reply) return;
    add(current, [line], textOf(reply["status"]));
    if (listens) await listen(current);
  };
  const list = async () => {
    const reply = await ask("list_calls");
    if (reply) setKnown(listOf(reply["calls"]));
  };
  const call = calls[current];
  return (
    <div class="panel-body phone">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void begin("dial", { to: number }, number);
        }}
      >
        <Text label="Number" value={number} change={setNumber} placeholder="+15550100123" />
        <button type="submit" class="primary" disabled={busy || !number.trim()}>
          Call
        </button>
        <button type="button" onClick={list} disabled={busy}>
          Calls that ring, and earlier ones
        </button>
      </form>
      {known && <KnownCalls calls={known} answer={(id, from) => begin("answer", { id }, from)} open={(id) => { setCurrent(id); setKnown(null); add(id, []); }} />}
      {Object.keys(calls).length > 1 && (
        <ul class="call-names">
          {Object.values(calls).map((each) => (
            <li key={each.id}>
              <button type="button" aria-pressed={each.id === current} onClick={() => setCurrent(each.id)}>
                {`${each.to || each.id} (${each.status})`}
              </button>
            </li>
          ))}
        </ul>
      )}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {call && (
        <section class="call" aria-label={`Call ${call.to || call.id}`}>
          <h3>
            {call.to || call.id} <span class="badge">{call.status}</span>
          </h3>
          <Transcript class="heard" label="What was said" count={call.lines.length}>
            {call.lines.map((line, place) => (
              <li key={place} class={`is-${line.who}`}>
                <span class="hidden">{`${line.who}: `}</span>
                {line.who === "pressed" ? `keys ${line.text}` : line.text}
              </li>
            ))}
          </Transcript>
          {call.status !== "ended" && <Controls busy={busy} act={act} listen={(operation, args) => listen(current, operation, args)} />}
        </section>
      )}
      <Voicemails sandbox={sandbox} />
    </div>
  );
}

interface ControlsProps {
  busy: boolean;
  act: (operation: string, args: JsonMap, line: Line, listens?: boolean) => Promise<void>;
  listen: (operation?: string, args?: JsonMap) => Promise<void>;
}

function Controls({ busy, act, listen }: ControlsProps) {
  const [keys, setKeys] = useState("");
  const [words, setWords] = useState("");
  const [seconds, setSeconds] = useState("30");
  const press = (event: Event) => {
    event.preventDefault();
    if (!keys.trim()) return;
    void act("press", { digits: keys.trim() }, { who: "pressed", text: keys.trim() });
    setKeys("");
  };
  const say = (event: Event) => {
    event.preventDefault();
    if (!words.trim()) return;
    void act("say", { text: words }, { who: "said", text: words });
    setWords("");
  };
  return (
    <div class="controls">
      <form class="keypad" onSubmit={press}>
        <div class="keypad-keys">
          {KEYS.map((key) => (
            <button key={key} type="button" onClick={() => setKeys((before) => before + key)}>
              {key}
            </button>
          ))}
        </div>
        <Text label="Keys" value={keys} change={setKeys} />
        <button type="submit" class="primary" disabled={busy || !keys.trim()}>
          Send keys
        </button>
      </form>
      <div class="speech">
        <form onSubmit={say}>
          <label class="text">
            <span>Words</span>
            <textarea rows={3} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
          </label>
          <button type="submit" class="primary" disabled={busy || !words.trim()}>
            Say
          </button>
        </form>
        <div class="actions">
          <button type="button" disabled={busy} onClick={() => listen()}>
            Listen
          </button>
          <button type="button" disabled={busy} onClick={() => listen("wait", { seconds: Number(seconds) || 30 })}>
            Stay on the line
          </button>
          <label class="seconds">
            <input type="number" min="1" value={seconds} onInput={(event) => setSeconds(event.currentTarget.value)} /> <span>seconds</span>
          </label>
          <button type="button" disabled={busy} onClick={() => act("hang_up", {}, { who: "note", text: "hung up" }, false)}>
            Hang up
          </button>
        </div>
      </div>
    </div>
  );
}

interface KnownProps {
  calls: JsonMap[];
  answer: (id: string, from: string) => Promise<void>;
  open: (id: string) => void;
}

function KnownCalls({ calls, answer, open }: KnownProps) {
  if (!calls.length) return <p class="muted">There are no calls.</p>;
  return (
    <ul class="plain-list">
      {calls.map((call) => {
        const id = textOf(call["id"]);
        const rings = call["direction"] === "inbound" && call["status"] === "ringing";
        return (
          <li key={id}>
            {`${textOf(call["direction"])} ${textOf(call["from"])} → ${textOf(call["to"])}: ${textOf(call["status"])} `}
            {rings ? (
              <button type="button" class="primary" onClick={() => answer(id, textOf(call["from"]))}>
                Answer
              </button>
            ) : (
              call["status"] !== "ended" && (
                <button type="button" onClick={() => open(id)}>
                  Open
                </button>
              )
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Voicemails({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error } = useSandbox(sandbox);
  const [messages, setMessages] = useState<JsonMap[] | null>(null);
  const [open, setOpen] = useState<JsonMap | null>(null);
  const list = async () => {
    const reply = await ask("list_voicemails");
    if (reply) setMessages(listOf(reply["voicemails"]));
  };
  const read = async (id: string) => {
    const reply = await ask("read_voicemail", { id });
    if (reply) setOpen(reply);
  };
  return (
    <section aria-label="Voicemails">
      <button type="button" onClick={list}>
        Voicemails
      </button>
      {error && <p class="error">{error}</p>}
      {messages && !messages.length && <p class="muted">There are no voicemails.</p>}
      {messages && (
        <ul class="plain-list">
          {messages.map((each) => (
            <li key={textOf(each["id"])}>
              <button type="button" class="link" onClick={() => read(textOf(each["id"]))}>
                {`${textOf(each["from"])} ${textOf(each["at"] ?? each["received"] ?? each["id"])}`}
              </button>
            </li>
          ))}
        </ul>
      )}
      {open && <JsonTree value={open} />}
    </section>
  );
}
