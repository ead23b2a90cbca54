// The filters of the list. Each is a part of the address, so that a filtered list is a link.
const NAMES = { benchmark: "Benchmark", agent: "Agent", tag: "Tag", verdict: "With a trial that is", label: "Label" };

interface Props {
  query: URLSearchParams;
  choices: Record<string, string[]>;
  onChoose: (name: string, value: string) => void;
  onClear: () => void;
}

export function Filters({ query, choices, onChoose, onClear }: Props) {
  const names = Object.entries(NAMES).filter(([name]) => choices[name]?.length || query.has(name));
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {names.map(([name, title]) => {
        const chosen = query.get(name) ?? "";
        const values = [...new Set([...(choices[name] ?? []), ...(chosen ? [chosen] : [])])];
        return (
          <label key={name}>
            {title}
            <select name={name} value={chosen} onChange={(event) => onChoose(name, event.currentTarget.value)}>
              <option value="">any</option>
              {values.map((value) => (
                <option key={value} value={value} selected={value === chosen}>
                  {value}
                </option>
              ))}
            </select>
          </label>
        );
      })}
      {names.some(([name]) => query.get(name)) && (
        <button type="button" class="quiet" onClick={onClear}>
          Show all
        </button>
      )}
    </form>
  );
}
