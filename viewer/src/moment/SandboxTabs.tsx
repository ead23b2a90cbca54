import { useRef } from "preact/hooks";
import type { SandboxState } from "./data";

interface SandboxTabsProps {
  id: string;
  sandboxes: Record<string, SandboxState>;
  chosen: string;
  onChoose: (name: string) => void;
}

/** One tab for each sandbox, with how many of its records have changed. Arrow keys move between them. */
export function SandboxTabs({ id, sandboxes, chosen, onChoose }: SandboxTabsProps) {
  const list = useRef<HTMLDivElement>(null);
  const names = Object.keys(sandboxes);
  const onKeyDown = (pressed: KeyboardEvent) => {
    const place = names.indexOf(chosen);
    const places: Record<string, number> = {
      ArrowLeft: (place - 1 + names.length) % names.length,
      ArrowRight: (place + 1) % names.length,
      Home: 0,
      End: names.length - 1,
    };
    const name = names[places[pressed.key] ?? -1];
    if (name === undefined) return;
    pressed.preventDefault();
    onChoose(name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[names.indexOf(name)]?.focus();
  };
  return (
    <div ref={list} class="moment-tabs" role="tablist" aria-label="Sandboxes" onKeyDown={onKeyDown}>
      {Object.entries(sandboxes).map(([name, { kind, counts }]) => {
        const changed = counts.created + counts.updated + counts.deleted;
        return (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-tab-${name}`}
            aria-controls={`${id}-panel`}
            aria-selected={name === chosen}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {name} {kind !== name && <small>{kind}</small>}
            <span class="moment-count">{changed > 0 ? `${changed} changed` : "unchanged"}</span>
          </button>
        );
      })}
    </div>
  );
}
