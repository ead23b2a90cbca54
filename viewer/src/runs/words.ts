// Numbers and times in words.

/** Near 0 % and 100 % with one decimal, so that 9,999 of 10,000 is 99.9 % and not 100 %. */
export function percent(share: number): string {
  const tenths = share * 1000;
  if (tenths < 1e-6 || tenths > 1000 - 1e-6 || (tenths >= 10 && tenths <= 990)) return `${Math.round(share * 100)}%`;
  return `${Math.min(Math.max(Math.round(tenths), 1), 999) / 10}%`;
}

export function dollars(amount: number): string {
  return `$${amount === 0 || amount >= 1 ? amount.toFixed(2) : amount.toPrecision(2)}`;
}

export function duration(seconds: number): string {
  if (seconds < 1) return "under 1 s";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function instant(text: string): string {
  return `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}
