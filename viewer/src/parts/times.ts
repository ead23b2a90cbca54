// Times in the zone of the trial's environment, whatever the zone of the browser.

export interface Zone {
  minutes: number;
  name: string;
}

function local(zone: Zone, at: string | number): string {
  return new Date((typeof at === "number" ? at : Date.parse(at)) + zone.minutes * 60000).toISOString();
}

export function clock(zone: Zone, at: string | number): string {
  return local(zone, at).slice(11, 19);
}

export function day(zone: Zone, at: string | number): string {
  return local(zone, at).slice(0, 10);
}

/** The date, the time and the zone. */
export function moment(zone: Zone, at: string | number): string {
  return `${day(zone, at)} ${clock(zone, at)} ${zone.name}`;
}
