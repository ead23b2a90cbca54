import { dollars, lasting } from "../parts/words";
import type { SortBy } from "./groups";

interface CellsProps {
  columns: readonly SortBy[];
  result: string;
  seconds: number | undefined;
  cost: number | undefined;
}

/** The cells of a row behind its name. */
export function Cells({ columns, result, seconds, cost }: CellsProps) {
  const values = {
    name: "",
    result,
    seconds: seconds === undefined ? "" : lasting(seconds),
    cost: cost === undefined ? "" : dollars(cost),
  };
  return (
    <>
      {columns.slice(1).map((by) => (
        <span role="cell" class={`column-${by}`}>
          {values[by]}
        </span>
      ))}
    </>
  );
}
