// A chart: search for patients and for anything else, open what was found, change it.
import { useId, useState } from "preact/hooks";
import { useSandbox } from "./calls";
import { nextQueryOf, resourcesOf } from "./resources";
import { ResourceTable } from "./ResourceTable";
import { ResourceView } from "./ReplyView";
import { type Json, type JsonMap, type Sandbox, isMap, textOf } from "./types";

const TYPES = [
  "AllergyIntolerance", "Appointment", "CarePlan", "Claim", "Communication", "Condition", "Coverage", "DiagnosticReport",
  "DocumentReference", "Encounter", "Immunization", "MedicationRequest", "Observation", "Organization", "Patient",
  "Practitioner", "Procedure", "Schedule", "ServiceRequest", "Slot", "Task",
];

interface Found {
  type: string;
  resources: JsonMap[];
  next: string;
}

export function ChartPanel({ sandbox }: { sandbox: Sandbox }) {
  const { ask, error, busy } = useSandbox(sandbox);
  const [found, setFound] = useState<Found | null>(null);
  const [open, setOpen] = useState<JsonMap | null>(null);
  const [patient, setPatient] = useState("");

  const search = async (type: string, query: string, more = false) => {
    const bundle = await ask("search_type", query ? { type, query } : { type });
    if (!bundle) return;
    const before = more ? (found?.resources ?? []) : [];
    setFound({ type, resources: [...before, ...resourcesOf(bundle)], next: nextQueryOf(bundle) });
    if (!more) setOpen(null);
  };
  const read = async (resource: JsonMap) => {
    const type = textOf(resource["resourceType"]);
    const whole = await ask("read", { type, id: textOf(resource["id"]) });
    if (!whole) return;
    setOpen(whole);
    if (type === "Patient") setPatient(textOf(whole["id"]));
  };
  const save = async (resource: JsonMap) => {
    const type = textOf(resource["resourceType"]);
    const id = textOf(resource["id"]);
    const saved = await (id ? ask("update", { type, id, resource }) : ask("create", { type, resource }));
    if (saved) setOpen(saved);
    return saved !== null;
  };
  return (
    <div class="panel-body">
      <PatientSearch search={(query) => search("Patient", query)} />
      <TypeSearch search={search} patient={patient} />
      {busy && <p class="muted">…</p>}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {found && (
        <section aria-label="Found" aria-live="polite">
          <ResourceTable resources={found.resources} open={read} />
          {found.next && (
            <button type="button" onClick={() => search(found.type, found.next, true)}>
              Next page
            </button>
          )}
        </section>
      )}
      {open && <OpenResource key={textOf(open["id"]) + textOf(isMap(open["meta"]) ? open["meta"]["versionId"] : "")} resource={open} save={save} />}
      <NewResource save={save} patient={patient} />
    </div>
  );
}

function PatientSearch({ search }: { search: (query: string) => void }) {
  const [name, setName] = useState("");
  const [birth, setBirth] = useState("");
  const [number, setNumber] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const [key, value] of [["name", name], ["birthdate", birth], ["identifier", number]] as const) {
      if (value.trim()) query.set(key, value.trim());
    }
    search(query.toString());
  };
  return (
    <form class="search" onSubmit={submit} aria-label="Search for a patient">
      <Text label="Name" value={name} change={setName} />
      <Text label="Born" value={birth} change={setBirth} placeholder="1965-03-15" />
      <Text label="MRN" value={number} change={setNumber} />
      <button type="submit">Find patients</button>
    </form>
  );
}

interface TypeSearchProps {
  search: (type: string, query: string) => void;
  patient: string;
}

function TypeSearch({ search, patient }: TypeSearchProps) {
  const [type, setType] = useState("Observation");
  const [typed, setTyped] = useState<string | null>(null);
  const [more, setMore] = useState("");
  const whose = typed ?? patient;
  const list = useId();
  const submit = (event: Event) => {
    event.preventDefault();
    search(type.trim(), [whose.trim() && `patient=${encodeURIComponent(whose.trim())}`, more.trim()].filter(Boolean).join("&"));
  };
  return (
    <form class="search" onSubmit={submit} aria-label="Search for resources">
      <Text label="Type" value={type} change={setType} list={list} />
      <datalist id={list}>
        {TYPES.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Text label="Patient id" value={whose} change={setTyped} placeholder="pat-0001" />
      <Text label="Further parameters" value={more} change={setMore} placeholder="code=2823-3&_sort=-date" />
      <button type="submit">Search</button>
    </form>
  );
}

interface TextProps {
  label: string;
  value: string;
  change: (text: string) => void;
  placeholder?: string;
  list?: string;
}

export function Text({ label, value, change, placeholder = "", list }: TextProps) {
  return (
    <label class="text">
      <span>{label}</span>
      <input
        type="text"
        autocomplete="off"
        value={value}
        placeholder={placeholder}
        {...(list ? { list } : {})}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

interface OpenProps {
  resource: JsonMap;
  save: (resource: JsonMap) => Promise<boolean>;
}

function OpenResource({ resource, save }: OpenProps) {
  const [text, setText] = useState<string | null>(null);
  return (
    <div class="opened">
      <ResourceView resource={resource} />
      {text === null ? (
        <button type="button" onClick={() => setText(JSON.stringify(resource, null, 2))}>
          Change it
        </button>
      ) : (
        <ResourceEditor label="The resource, as JSON" text={text} change={setText} save={save} word="Save" close={() => setText(null)} />
      )}
    </div>
  );
}

function NewResource({ save, patient }: { save: OpenProps["save"]; patient: string }) {
  const [text, setText] = useState<string | null>(null);
  const begin = () => {
    const subject = { reference: `Patient/${patient || "…"}` };
    setText(JSON.stringify({ resourceType: "Task", status: "requested", intent: "order", for: subject }, null, 2));
  };
  if (text === null) {
    return (
      <p>
        <button type="button" onClick={begin}>
          New resource
        </button>
      </p>
    );
  }
  return (
    <ResourceEditor label="New resource, as JSON" text={text} change={setText} save={save} word="Create" close={() => setText(null)} />
  );
}

interface EditorProps extends Pick<OpenProps, "save"> {
  label: string;
  text: string;
  change: (text: string) => void;
  word: string;
  close: () => void;
}

function ResourceEditor({ label, text, change, save, word, close }: EditorProps) {
  const [error, setError] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    let resource: Json;
    try {
      resource = JSON.parse(text) as Json;
    } catch (failure) {
      setError((failure as Error).message);
      return;
    }
    if (!isMap(resource) || typeof resource["resourceType"] !== "string") {
      setError("A resource is an object with resourceType.");
      return;
    }
    setError("");
    if (await save(resource)) close();
  };
  return (
    <form class="editor" onSubmit={submit}>
      <label>
        <span>{label}</span>
        <textarea rows={14} spellcheck={false} class="mono" value={text} onInput={(event) => change(event.currentTarget.value)} />
      </label>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="primary">
          {word}
        </button>
        <button type="button" onClick={close}>
          Leave it
        </button>
      </div>
    </form>
  );
}
