// How a sandbox is reached by other programs; a portal is opened in a tab.
import { JsonTree } from "./JsonTree";
import { type JsonMap, type Sandbox, isMap, textOf } from "./types";

export function PortalPanel({ sandbox }: { sandbox: Sandbox }) {
  const portal = sandbox.connection["portal"];
  const info: JsonMap = isMap(portal) ? portal : {};
  const address = textOf(info["portal_url"]) || textOf(sandbox.connection["url"]);
  return (
    <div class="panel-body">
      <p>
        <a class="button primary" href={address} target="_blank" rel="noopener noreferrer">
          Open the portal in a tab
        </a>
      </p>
      <dl class="credentials">
        <dt>Username</dt>
        <dd>
          <code>{textOf(info["username"])}</code>
        </dd>
        <dt>Password</dt>
        <dd>
          <code>{textOf(info["password"])}</code>
        </dd>
      </dl>
    </div>
  );
}

export function Connection({ sandbox }: { sandbox: Sandbox }) {
  return (
    <details class="connection">
      <summary>Connect by another program</summary>
      <JsonTree value={sandbox.connection} />
    </details>
  );
}
