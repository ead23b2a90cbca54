// What a sandbox replied: a picture, a table of resources, a tree of JSON, or text.
import { useState } from "preact/hooks";
import { parseJson, refusalOf } from "./calls";
import { JsonTree, SaveLink } from "./JsonTree";
import { describeResource, resourcesOf } from "./resources";
import { ResourceTable } from "./ResourceTable";
import { isMap, type JsonMap, type Reply } from "./types";

const PICTURES = ["image/png", "image/jpeg"];

export function ReplyView({ reply, name = "file" }: { reply: Reply; name?: string }) {
  const refusal = refusalOf(reply);
  return (
    <>
      {refusal && (
        <p class="error" role="alert">
          {refusal}
        </p>
      )}
      {!refusal && <Content reply={reply} name={name} />}
    </>
  );
}

function Content({ reply, name }: { reply: Reply; name: string }) {
  const media = reply.media.split(";")[0] ?? "";
  if (reply.data !== undefined) {
    const picture = PICTURES.includes(media);
    return (
      <>
        {picture && <img class="picture" src={`data:${media};base64,${reply.data}`} alt={`Picture: ${name}`} />}
        <p>
          <SaveLink data={reply.data} media={media} name={name} />
        </p>
      </>
    );
  }
  const value = parseJson(reply);
  if (isMap(value) && value["resourceType"] === "Bundle") return <BundleView bundle={value} />;
  if (isMap(value) && typeof value["resourceType"] === "string") return <ResourceView resource={value} />;
  if (value !== undefined) return <JsonTree value={value} />;
  return reply.text ? <pre tabIndex={0}>{reply.text}</pre> : <p class="muted">{`Done (${reply.status}).`}</p>;
}

function BundleView({ bundle }: { bundle: JsonMap }) {
  const [open, setOpen] = useState<JsonMap | null>(null);
  return (
    <>
      <ResourceTable resources={resourcesOf(bundle)} open={setOpen} />
      {open && <ResourceView resource={open} />}
    </>
  );
}

export function ResourceView({ resource }: { resource: JsonMap }) {
  const { type, id, title, value } = describeResource(resource);
  return (
    <section class="resource" aria-label={`${type}/${id}`}>
      <h3>
        {title || type} <small>{id ? `${type}/${id}` : type}</small>
{" "}
        {value && <span class="resource-value">{value}</span>}
      </h3>
      <JsonTree value={resource} />
    </section>
  );
}
