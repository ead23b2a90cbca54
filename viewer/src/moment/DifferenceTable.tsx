import type { FieldDifference } from "./data";

interface DifferenceTableProps {
  differences: FieldDifference[];
  leftOut: number;
}

/** The fields of an updated record that differ from the start. */
export function DifferenceTable({ differences, leftOut }: DifferenceTableProps) {
  return (
    <table class="moment-differences">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">At the start</th>
          <th scope="col">Now</th>
        </tr>
      </thead>
      <tbody>
        {differences.map(({ path, before, after }) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>{toText(before)}</td>
            <td>{toText(after)}</td>
          </tr>
        ))}
      </tbody>
      {leftOut > 0 && (
        <tfoot>
          <tr>
            <td colSpan={3}>{leftOut} more fields differ.</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
