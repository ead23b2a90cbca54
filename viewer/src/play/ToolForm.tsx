// A form made from the JSON Schema of a tool.
import { useContext, useId, useState } from "preact/hooks";
import { CallContext } from "./calls";
import { ReplyView } from "./ReplyView";
import type { Json, JsonMap, Reply, Schema, Tool } from "./types";

type Sort = "text" | "long" | "number" | "choice" | "lines" | "json";
const LONG = new Set(["text", "message", "edi", "data", "body", "note", "reason", "description", "html"]);

/** The schema of a value that is given, where it may also be left out. */
function given(schema: Schema): Schema {
  const variant = schema.anyOf?.filter((each) => each.type !== "null");
  return variant?.length === 1 ? { ...variant[0], description: schema.description } as Schema : schema;
}

function sortOf(name: string, schema: Schema): Sort {
  if (schema.enum || schema.type === "boolean") return "choice";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "array" && schema.items?.type === "string") return "lines";
  if (schema.type === "string") return LONG.has(name) ? "long" : "text";
  return "json";
}

function choicesOf(schema: Schema): string[] {
  return schema.enum ? schema.enum.map(String).filter(Boolean) : ["true", "false"];
}

/** The value of a field. Raises an error that says what is wrong with it. */
function parseField(name: string, schema: Schema, text: string): Json {
  const sort = sortOf(name, schema);
  if (sort === "number") {
    const number = Number(text);
    if (!Number.isFinite(number)) throw new Error(`${name}: not a number`);
    return number;
  }
  if (sort === "choice") return schema.type === "boolean" ? text === "true" : text;
  if (sort === "lines") return text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (sort !== "json") return text;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`);
  }
}

export function ToolForm({ tool }: { tool: Tool }) {
  const call = useContext(CallContext);
  const [values, setValues] = useState<Record<string, string>>({});
  const [reply, setReply] = useState<Reply | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const fields = Object.entries(tool.parameters.properties ?? {});
  const required = tool.parameters.required ?? [];
  const submit = async (event: Event) => {
    event.preventDefault();
    setError("");
    setBusy(true);
    try {
      const args: JsonMap = {};
      for (const [name, schema] of fields) {
        const text = values[name] ?? "";
        if (text !== "") args[name] = parseField(name, given(schema), text);
      }
      setReply(await call(tool.name, args));
    } catch (failure) {
      setError((failure as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="tool-form" onSubmit={submit}>
      <p class="muted">{tool.description}</p>
      {fields.map(([name, schema]) => (
        <Field
          key={name}
          name={name}
          schema={given(schema)}
          required={required.includes(name)}
          value={values[name] ?? ""}
          change={(text) => setValues((before) => ({ ...before, [name]: text }))}
        />
      ))}
      <div class="actions">
        <button type="submit" class={tool.reads ? "" : "primary"} disabled={busy}>
          {tool.operation}
        </button>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {reply && (
        <div class="reply" aria-live="polite">
          <ReplyView reply={reply} name={tool.operation} />
        </div>
      )}
    </form>
  );
}

interface FieldProps {
  name: string;
  schema: Schema;
  required: boolean;
  value: string;
  change: (text: string) => void;
}

function Field({ name, schema, required, value, change }: FieldProps) {
  const id = useId();
  const sort = sortOf(name, schema);
  const shared = { id, value, required, "aria-describedby": schema.description ? `${id}-about` : undefined };
  const onInput = (event: { currentTarget: { value: string } }) => change(event.currentTarget.value);
  return (
    <div class="field-row">
      <label for={id}>
        {name}
        {required && <span class="needed"> needed</span>}
      </label>
      {sort === "choice" && (
        <select {...shared} onChange={onInput}>
          <option value="">—</option>
          {choicesOf(schema).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
      {(sort === "long" || sort === "json" || sort === "lines") && (
        <textarea {...shared} rows={3} spellcheck={sort === "long"} placeholder={placeholderOf(sort)} onInput={onInput} />
      )}
      {sort === "text" && <input {...shared} type="text" autocomplete="off" onInput={onInput} />}
      {sort === "number" && <input {...shared} type="number" step="any" onInput={onInput} />}
      {schema.description && (
        <small id={`${id}-about`} class="about-field">
          {schema.description}
        </small>
      )}
    </div>
  );
}

function placeholderOf(sort: Sort): string {
  return sort === "json" ? "JSON" : sort === "lines" ? "one on each line" : "";
}
