// A page that is not in this report is named, with the reason.
import type { Assets } from "../data";

export function AbsentPage({ text, assets }: { text: string; assets: Assets }) {
  const reason = assets.pictures_problem || assets.pictures_redacted ? "not shown, see the note above the trials" : "not in this report, to keep it small";
  return <p class="absent-page">{`${text}: ${reason}.`}</p>;
}
