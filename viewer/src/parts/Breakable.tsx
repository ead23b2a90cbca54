// A path that goes on in the next line behind a dot, a colon or a slash, rather than inside a word.
import { Coded } from "./Coded";

export function Breakable({ path }: { path: string }) {
  return <Coded text={path} plain={broken} inside={broken} />;
}

function broken(text: string) {
  return text.split(/(?<=[./:])/).map((part) => (
    <>
      {part}
      <wbr />
    </>
  ));
}
