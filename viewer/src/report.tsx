// The entry of the file of a report, which has all data in it.
import type { ReportData } from "./data";
import { RunPage } from "./run/mount";
import { EmbeddedSource } from "./source";
import { pictureNote } from "./trial/fax_pages";

const data = JSON.parse(document.getElementById("data")!.textContent!) as ReportData;
const note = pictureNote(data);
if (note) {
  const line = document.createElement("p");
  line.className = "left-out picture-note";
  line.textContent = note;
  document.querySelector("main")!.before(line);
}
new RunPage(new EmbeddedSource(data), {}).start();
