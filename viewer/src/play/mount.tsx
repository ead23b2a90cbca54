// Puts the task that a person does into its page.
import { render } from "preact";
import { Play } from "./Play";

export function mountPlay(): void {
  const root = document.getElementById("play");
  if (!root) return;
  const { prefix = "/view" } = document.body.dataset;
  const title = root.dataset["task"] ?? "";
  root.replaceChildren();
  render(<Play prefix={prefix} title={title} />, root);
}
