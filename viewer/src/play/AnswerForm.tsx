// The answer to the task: JSON where it is JSON, else text.
import { useState } from "preact/hooks";
import type { Json } from "./types";

type Reading = "auto" | "text" | "json";

function read(text: string, as: Reading): { value: Json; sort: string } {
  if (!text.trim()) return { value: null, sort: "no answer" };
  if (as === "text") return { value: text, sort: "text" };
  try {
    const value = JSON.parse(text) as Json;
    const sort = Array.isArray(value) ? "a list" : value === null ? "null" : typeof value === "object" ? "an object" : typeof value;
    return { value, sort };
  } catch (error) {
    if (as === "json") throw error;
    return { value: text, sort: "text" };
  }
}

export function AnswerForm({ send, disabled }: { send: (answer: Json) => Promise<boolean>; disabled: boolean }) {
  const [text, setText] = useState("");
  const [as, setAs] = useState<Reading>("auto");
  const [asks, setAsks] = useState(false);
  const isEmpty = !text.trim();
  let sort = "";
  let error = "";
  try {
    sort = read(text, as).sort;
  } catch (failure) {
    error = (failure as Error).message;
  }
  const looksLikeJson = as === "auto" && sort === "text" && /^\s*[[{]/.test(text);
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (isEmpty && !asks) setAsks(true);
        else if (!error) void send(read(text, as).value);
      }}
    >
      <label class="text">
        <span>Answer</span>
        <textarea rows={4} spellcheck={false} class="mono" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <label class="seconds">
          <span>read as</span>{" "}
          <select value={as} onChange={(event) => setAs(event.currentTarget.value as Reading)}>
            <option value="auto">JSON, or text</option>
            <option value="json">JSON</option>
            <option value="text">text</option>
          </select>
        </label>
        <span class={error || looksLikeJson ? "warning" : "muted"}>{error || (looksLikeJson ? "text: it is not valid JSON" : sort)}</span>
      </div>
      <button type="submit" class={isEmpty && !asks ? "wide" : "primary wide"} disabled={disabled || error !== ""}>
        {isEmpty ? (asks ? "Yes, end the task without an answer" : "Done, without an answer") : "Done: send the answer"}
      </button>
    </form>
  );
}
