import { useState } from "preact/hooks";

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [word, setWord] = useState("copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setWord("copied");
    } catch {
      setWord("select and copy"); // a file may not be allowed to
    }
  };
  return (
    <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={copy}>
      {word}
    </button>
  );
}
