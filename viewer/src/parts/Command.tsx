// The command line that does the same; nothing where the reader has none.
import { CopyButton } from "./CopyButton";

export function Command({ line }: { line: string }) {
  if (!line) return null;
  return (
    <span class="command-line">
      <code class="copy">{line}</code> <CopyButton text={line} what="the command" />
    </span>
  );
}
