// Chooses the sequence whose steps are drawn.
import { plainText } from "../parts/Coded";
import { oneLine } from "../parts/values";
import type { Sequence } from "./sequences";

interface SequencePickerProps {
  sequences: Sequence[];
  /** The place of the criterion; -1 for none. */
  chosen: number;
  choose: (place: number) => void;
}

export function SequencePicker({ sequences, chosen, choose }: SequencePickerProps) {
  if (!sequences.length) return null;
  const at = sequences.findIndex(({ place }) => place === chosen);
  return (
    <label class="sequence-picker">
      {"Steps of "}
      <select value={at} onChange={({ currentTarget }) => choose(sequences[Number(currentTarget.value)]?.place ?? -1)}>
        {sequences.map(({ criterion }, number) => (
          <option value={number}>{oneLine(`${criterion.passed ? "✓" : "✗"} ${plainText(criterion.label)}`, 70)}</option>
        ))}
        <option value={-1}>none</option>
      </select>
    </label>
  );
}
