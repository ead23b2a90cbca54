// Numbers, durations and amounts as people read them.

export function plural(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A duration, as `describe_duration` of the program writes it: two units at most. */
export function lasting(seconds: number, most = 2): string {
  if (seconds > 0 && seconds < 0.9995) return `${Math.max(Math.round(seconds * 1000), 1)} ms`;
  if (seconds < 9.95 && Number(seconds.toFixed(1)) % 1) return `${seconds.toFixed(1)} s`;
  const units = [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]] as const;
  for (const [name, size, lesser, step] of units) {
    const whole = Math.floor(seconds / step + 0.5);
    const [count, rest] = [Math.floor(whole / (size / step)), whole % (size / step)];
    if (count) return `${count.toLocaleString("en")} ${name}${rest && most > 1 ? ` ${rest} ${lesser}` : ""}`;
  }
  return `${Math.floor(seconds + 0.5)} s`;
}

/** Two significant digits: a trial costs cents or less. */
export function dollars(amount: number): string {
  return amount === 0 || amount >= 1 ? `$${amount.toFixed(2)}` : `$${Number(amount.toPrecision(2))}`;
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export function classes(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}
