// FHIR resources as rows. A click opens one.
import { describeResource } from "./resources";
import type { JsonMap } from "./types";

export function ResourceTable({ resources, open }: { resources: JsonMap[]; open: (resource: JsonMap) => void }) {
  if (!resources.length) return <p class="muted">Nothing was found.</p>;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Resources found">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Value</th>
            <th scope="col">Date</th>
            <th scope="col">Status</th>
          </tr>
        </thead>
        <tbody>
          {resources.map((resource) => {
            const row = describeResource(resource);
            return (
              <tr key={`${row.type}/${row.id}`}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => open(resource)}>
                    {row.title || row.id}
                  </button>
                  <small>{`${row.type}/${row.id}`}</small>
                </th>
                <td>{row.value}</td>
                <td>
                  <time dateTime={row.date} title={row.date}>
                    {row.date.slice(0, 16).replace("T", " ")}
                  </time>
                </td>
                <td>{row.status}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
