// A fax machine: what came and went, its pages as pictures, and a form to send.
import { useState } from "preact/hooks";
import { useSandbox } from "./calls";
import { Text } from "./ChartPanel";
import { type Json, type JsonMap, type Reply, type Sandbox, listOf, textOf } from "./types";

interface OpenFax {
  id: string;
  pages: Reply[];
  text: JsonMap[] | null;
}

export function FaxPanel({ sandbox }: { sandbox: Sandbox }) {
  const { ask, send, error, busy } = useSandbox(sandbox);
  const [faxes, setFaxes] = useState<JsonMap[] | null>(null);
  const [open, setOpen] = useState<OpenFax | null>(null);
  const list = async () => {
    const reply = await ask("list_faxes");
    if (reply) setFaxes(listOf(reply["faxes"]));
  };
  const show = async (fax: JsonMap) => {
    const id = textOf(fax["id"]);
    const pages: Reply[] = [];
    for (let page = 1; page <= Number(fax["pages"] ?? 0); page += 1) {
      const reply = await send("download_page", { id, page });
      if (!reply) return;
      pages.push(reply);
      setOpen({ id, pages: [...pages], text: null });
    }
    setFaxes((before) => before?.map((each) => (each["id"] === id ? { ...each, unread: false } : each)) ?? null);
  };
  const readText = async () => {
    const reply = open && (await ask("read_fax_text", { id: open.id }));
    if (open && reply) setOpen({ ...open, text: listOf(reply["pages"]) });
  };
  return (
    <div class="panel-body">
      <div class="actions">
        <button type="button" class="primary" onClick={list} disabled={busy}>
          {faxes ? "Look again" : "Look at the faxes"}
        </button>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {faxes && <FaxTable faxes={faxes} show={show} />}
      {open && (
        <section class="fax" aria-label={`Fax ${open.id}`}>
          <h3>
            {open.id}{" "}
            <button type="button" onClick={readText} disabled={busy}>
              Read the text by OCR
            </button>
          </h3>
          <div class="fax-pages">
            {open.pages.map((page, place) => (
              <figure key={place}>
                <img src={`data:image/png;base64,${page.data ?? ""}`} alt={`Page ${place + 1} of ${open.id}`} />
                <figcaption>{`Page ${place + 1}`}</figcaption>
              </figure>
            ))}
          </div>
          {open.text?.map((page) => (
            <pre key={textOf(page["page"])} tabIndex={0}>
              {textOf(page["text"])}
            </pre>
          ))}
        </section>
      )}
      <SendFax sandbox={sandbox} />
    </div>
  );
}

function FaxTable({ faxes, show }: { faxes: JsonMap[]; show: (fax: JsonMap) => Promise<void> }) {
  if (!faxes.length) return <p class="muted">There are no faxes.</p>;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Faxes">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Fax</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Pages</th>
            <th scope="col">Status</th>
          </tr>
        </thead>
        <tbody>
          {faxes.map((fax) => (
            <tr key={textOf(fax["id"])} class={fax["unread"] === true ? "unread" : ""}>
              <th scope="row">
                <button type="button" class="link" onClick={() => show(fax)}>
                  {textOf(fax["id"])}
                </button>
                <small>{`${textOf(fax["direction"])}${fax["unread"] === true ? ", unread" : ""}`}</small>
              </th>
              <td>{textOf(fax["sender"])}</td>
              <td>{textOf(fax["to"])}</td>
              <td>{textOf(fax["pages"])}</td>
              <td>{textOf(fax["status"])}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SendFax({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error, busy } = useSandbox(sandbox);
  const [to, setTo] = useState("");
  const [text, setText] = useState("");
  const [files, setFiles] = useState<Json[]>([]);
  const [sent, setSent] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    const args: JsonMap = { to };
    if (text.trim()) args["text"] = text;
    if (files.length) args["documents"] = files;
    const reply = await ask("send_fax", args);
    if (reply) setSent(`${textOf(reply["id"])}: ${textOf(reply["status"])}`);
  };
  const choose = async (list: FileList | null) => {
    setFiles(await Promise.all(Array.from(list ?? []).map(encodeFile)));
  };
  return (
    <details>
      <summary>Send a fax</summary>
      <form class="editor" onSubmit={submit}>
        <Text label="To" value={to} change={setTo} placeholder="+15550177001" />
        <label class="text">
          <span>Text</span>
          <textarea rows={5} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <label class="text">
          <span>Files</span>
          <input type="file" multiple onChange={(event) => choose(event.currentTarget.files)} />
        </label>
        <div class="actions">
          <button type="submit" class="primary" disabled={busy || !to.trim()}>
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

async function encodeFile(file: File): Promise<Json> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { name: file.name, base64: btoa(text) };
}
