// The names of the lanes of the timeline. Each is a button that folds the events of its lane away.
interface LaneHeadsProps {
  lanes: string[];
  shut: ReadonlySet<string>;
  toggle: (lane: string) => void;
}

export function LaneHeads({ lanes, shut, toggle }: LaneHeadsProps) {
  return (
    <div class="lanes" role="group" aria-label="Lanes">
      {lanes.map((lane) => (
        <button type="button" aria-pressed={!shut.has(lane)} title={`Show or hide ${lane}`} onClick={() => toggle(lane)}>
          {lane}
        </button>
      ))}
    </div>
  );
}
