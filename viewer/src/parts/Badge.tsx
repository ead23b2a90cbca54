import type { ComponentChildren } from "preact";

export function Badge({ kind = "", title, children }: { kind?: string; title?: string; children: ComponentChildren }) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
