// Text in backticks is shown as code: a block between three, or a span of one line; the second backtick may be cut off.
// The pattern is that of report/pages.py.
import type { ComponentChildren } from "preact";

const CODE = /```(?:[\w+-]*\n)?([\s\S]+?)```|`([^`\n]+)`|`([^`\n]*…)$/g;

interface CodedProps {
  text: string;
  /** Called for what is not code. */
  plain?: (part: string) => ComponentChildren;
  inside?: (part: string) => ComponentChildren;
}

export function Coded({ text, plain = (part) => part, inside = (part) => part }: CodedProps) {
  if (!text.includes("`")) return <>{plain(text)}</>; // most texts
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(CODE)) {
    parts.push(plain(text.slice(end, found.index)), <code>{inside(found[1] || found[2] || found[3] || "")}</code>);
    end = found.index + found[0].length;
  }
  return (
    <>
      {parts}
      {plain(text.slice(end))}
    </>
  );
}

/** The text for an attribute, which holds no elements. */
export function plainText(text: string): string {
  return text.replace(CODE, (_, block: string, span: string, cut: string) => block || span || cut);
}
