// A list of what was said, which shows its end whenever something is added.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  class: string;
  label: string;
  count: number;
  children: ComponentChildren;
}

export function Transcript({ class: name, label, count, children }: Props) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [count]);
  return (
    <ol ref={list} class={name} aria-label={label} aria-live="polite" tabIndex={0}>
      {children}
    </ol>
  );
}
