// All tools of a sandbox, each with a form.
import { useState } from "preact/hooks";
import { ToolForm } from "./ToolForm";
import type { Tool } from "./types";

export function ToolList({ tools, title, open = false }: { tools: Tool[]; title: string; open?: boolean }) {
  const [shown, setShown] = useState(open);
  const [chosen, setChosen] = useState("");
  const tool = tools.find((each) => each.name === chosen);
  return (
    <details class="tools" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        {title} <span class="muted">{tools.length}</span>
      </summary>
      {shown && (
        <div class="tool-choice">
          <ul class="tool-names">
            {tools.map((each) => (
              <li key={each.name}>
                <button type="button" aria-pressed={each.name === chosen} onClick={() => setChosen(each.name)}>
                  {each.operation}
                </button>
              </li>
            ))}
          </ul>
          {tool && <ToolForm key={tool.name} tool={tool} />}
        </div>
      )}
    </details>
  );
}
