// Messages: threads, one of them as a conversation with a box to reply, and a form for a new message.
import { useState } from "preact/hooks";
import { useSandbox } from "./calls";
import { Text } from "./ChartPanel";
import { Transcript } from "./Transcript";
import { type JsonMap, type Sandbox, listOf, textOf } from "./types";

export function MessagesPanel({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error, busy } = useSandbox(sandbox);
  const [threads, setThreads] = useState<JsonMap[] | null>(null);
  const [open, setOpen] = useState<JsonMap | null>(null);
  const list = async () => {
    const reply = await ask("list_threads");
    if (reply) setThreads(listOf(reply["threads"]));
  };
  const show = async (id: string) => {
    const reply = await ask("read_thread", { id });
    if (!reply) return;
    setOpen(reply);
    for (const message of listOf(reply["messages"])) {
      if (message["unread"] === true) await ask("mark_message", { id: textOf(message["id"]) });
    }
  };
  const reply = async (text: string) => {
    const last = listOf(open?.["messages"]).at(-1);
    if (!last || !(await ask("send_message", { in_reply_to: textOf(last["id"]), text }))) return false;
    await show(textOf(open?.["id"]));
    return true;
  };
  return (
    <div class="panel-body">
      <div class="actions">
        <button type="button" class="primary" onClick={list} disabled={busy}>
          {threads ? "Look again" : "Look at the messages"}
        </button>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {threads && !threads.length && <p class="muted">There are no messages.</p>}
      {threads && (
        <ul class="plain-list">
          {threads.map((thread) => (
            <li key={textOf(thread["id"])}>
              <button type="button" class="link" onClick={() => show(textOf(thread["id"]))}>
                {textOf(thread["subject"]) || threadWith(thread)}
              </button>{" "}
              <small>{`${textOf(thread["channel"])}, ${threadWith(thread)}, ${textOf(thread["unread"])} unread`}</small>
            </li>
          ))}
        </ul>
      )}
      {open && <Thread key={textOf(open["id"])} thread={open} reply={reply} />}
      <NewMessage sandbox={sandbox} />
    </div>
  );
}

function threadWith(thread: JsonMap): string {
  return Array.isArray(thread["with"]) ? thread["with"].map(textOf).join(", ") : "";
}

function Thread({ thread, reply }: { thread: JsonMap; reply: (text: string) => Promise<boolean> }) {
  const messages = listOf(thread["messages"]);
  return (
    <section class="conversation" aria-label="Thread">
      <Transcript class="bubbles" label="Messages of the thread" count={messages.length}>
        {messages.map((message) => (
          <Bubble key={textOf(message["id"])} mine={message["direction"] === "outbound"} who={textOf(message["from"])} text={textOf(message["text"])} />
        ))}
      </Transcript>
      <ReplyBox send={reply} word="Reply" />
    </section>
  );
}

export function Bubble({ mine, who, text }: { mine: boolean; who: string; text: string }) {
  return (
    <li class={mine ? "mine" : "theirs"}>
      <small>{mine ? "you" : who}</small>
      <p>{text}</p>
    </li>
  );
}

interface ReplyBoxProps {
  send: (text: string) => Promise<boolean>;
  word: string;
  disabled?: boolean;
}

export function ReplyBox({ send, word, disabled = false }: ReplyBoxProps) {
  const [text, setText] = useState("");
  const submit = async () => {
    if (text.trim() && (await send(text))) setText("");
  };
  return (
    <form
      class="reply-box"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label class="text">
        <span>Your reply</span>
        <textarea
          rows={3}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
          }}
        />
      </label>
      <button type="submit" class="primary" disabled={disabled || !text.trim()}>
        {word}
      </button>
    </form>
  );
}

function NewMessage({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error, busy } = useSandbox(sandbox);
  const [channel, setChannel] = useState("sms");
  const [to, setTo] = useState("");
  const [subject, setSubject] = useState("");
  const [text, setText] = useState("");
  const [sent, setSent] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    const recipients = to.split(",").map((each) => each.trim()).filter(Boolean);
    const reply = await ask("send_message", { channel, to: recipients, text, ...(subject.trim() ? { subject } : {}) });
    if (reply) setSent(`sent: ${textOf(reply["id"])}`);
  };
  return (
    <details>
      <summary>New message</summary>
      <form class="editor" onSubmit={submit}>
        <label class="text">
          <span>Channel</span>
          <select value={channel} onChange={(event) => setChannel(event.currentTarget.value)}>
            <option value="sms">sms</option>
            <option value="email">email</option>
            <option value="portal">portal</option>
          </select>
        </label>
        <Text label="To" value={to} change={setTo} placeholder="+15550100123, or Patient/pat-0001" />
        {channel !== "sms" && <Text label="Subject" value={subject} change={setSubject} />}
        <label class="text">
          <span>Text</span>
          <textarea rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="submit" class="primary" disabled={busy || !to.trim() || !text.trim()}>
            Send
          </button>
          {sent && <span role="status">{sent}</span>}
        </div>
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
      </form>
    </details>
  );
}
