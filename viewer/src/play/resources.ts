// FHIR resources in a few words.
import { isMap, type Json, type JsonMap, listOf, textOf } from "./types";

function conceptText(value: Json | undefined): string {
  const concept = Array.isArray(value) ? value[0] : value;
  if (!isMap(concept)) return "";
  const coding = listOf(concept["coding"])[0];
  return textOf(concept["text"]) || textOf(coding?.["display"]) || textOf(coding?.["code"]);
}

function nameText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  const names = listOf(value);
  const name = names.find((each) => each["use"] === "official") ?? names[0];
  if (!name) return "";
  const given = Array.isArray(name["given"]) ? name["given"].map(textOf).join(" ") : "";
  return textOf(name["text"]) || `${given} ${textOf(name["family"])}`.trim();
}

function valueText(resource: JsonMap): string {
  const quantity = resource["valueQuantity"];
  if (isMap(quantity)) return `${textOf(quantity["value"])} ${textOf(quantity["unit"])}`.trim();
  return textOf(resource["valueString"]) || conceptText(resource["valueCodeableConcept"]);
}

const TITLES = ["code", "medicationCodeableConcept", "vaccineCode", "type", "category", "serviceType", "appointmentType", "class"];
const DATES = [
  "effectiveDateTime", "authoredOn", "occurrenceDateTime", "start", "onsetDateTime", "recordedDate", "date",
  "issued", "created", "birthDate", "performedDateTime", "sent", "lastModified",
];

export interface ResourceRow {
  type: string;
  id: string;
  title: string;
  date: string;
  status: string;
  value: string;
}

export function describeResource(resource: JsonMap): ResourceRow {
  const period = resource["period"];
  const date = DATES.map((key) => textOf(resource[key])).find(Boolean) ?? (isMap(period) ? textOf(period["start"]) : "");
  const title = TITLES.map((key) => conceptText(resource[key])).find(Boolean);
  const identifier = listOf(resource["identifier"])[0];
  return {
    type: textOf(resource["resourceType"]),
    id: textOf(resource["id"]),
    title: nameText(resource["name"]) || title || textOf(resource["description"]) || textOf(resource["title"]),
    date,
    status: textOf(resource["status"]) || conceptText(resource["clinicalStatus"]) || textOf(resource["gender"]),
    value: valueText(resource) || (resource["resourceType"] === "Patient" ? textOf(identifier?.["value"]) : ""),
  };
}

/** The resources of a Bundle, without hints about the search. */
export function resourcesOf(bundle: JsonMap): JsonMap[] {
  return listOf(bundle["entry"])
    .map((entry) => entry["resource"])
    .filter(isMap)
    .filter((each) => each["resourceType"] !== "OperationOutcome");
}

/** The query of the next page; empty if there is none. */
export function nextQueryOf(bundle: JsonMap): string {
  const link = listOf(bundle["link"]).find((each) => each["relation"] === "next");
  const address = textOf(link?.["url"]);
  const mark = address.indexOf("?");
  return mark < 0 ? "" : address.slice(mark + 1);
}
