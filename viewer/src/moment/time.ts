/** A simulated time as it is in the log, without fractions of a second. */
export function formatTime(at: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/.exec(at);
  if (parts === null) return at;
  const zone = parts[3] === undefined || parts[3] === "Z" || parts[3] === "+00:00" ? "UTC" : parts[3];
  return `${parts[1]} ${parts[2]} ${zone}`;
}
