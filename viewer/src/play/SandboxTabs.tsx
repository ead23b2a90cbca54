// The sandboxes, one at a time. All stay open behind, so that nothing typed is lost.
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { ChartPanel } from "./ChartPanel";
import { Connection, PortalPanel } from "./Connection";
import { FaxPanel } from "./FaxPanel";
import { MessagesPanel } from "./MessagesPanel";
import { PhonePanel } from "./PhonePanel";
import { ToolList } from "./ToolList";
import type { Sandbox } from "./types";

const PANELS: Record<string, ComponentType<{ sandbox: Sandbox }>> = {
  fhir: ChartPanel,
  voice: PhonePanel,
  fax: FaxPanel,
  messages: MessagesPanel,
  portal: PortalPanel,
};

export function SandboxTabs({ sandboxes }: { sandboxes: Sandbox[] }) {
  const [chosen, setChosen] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = (chosen + step + sandboxes.length) % sandboxes.length;
    setChosen(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <section class="card sandboxes" aria-label="Sandboxes">
      <div class="tabs" role="tablist" aria-label="Sandboxes" onKeyDown={move}>
        {sandboxes.map((each, place) => (
          <button
            key={each.name}
            id={`tab-${place}`}
            type="button"
            role="tab"
            aria-selected={place === chosen}
            aria-controls={`panel-${place}`}
            tabIndex={place === chosen ? 0 : -1}
            onClick={() => setChosen(place)}
          >
            {each.name}
            {each.kind !== each.name && <small>{each.kind}</small>}
          </button>
        ))}
      </div>
      {sandboxes.map((each, place) => {
        const Panel = PANELS[each.kind];
        return (
          <div key={each.name} id={`panel-${place}`} role="tabpanel" aria-labelledby={`tab-${place}`} hidden={place !== chosen}>
            {Panel && <Panel sandbox={each} />}
            <ToolList tools={each.tools} title={Panel ? "All tools" : "Tools"} open={!Panel} />
            <Connection sandbox={each} />
          </div>
        );
      })}
    </section>
  );
}
