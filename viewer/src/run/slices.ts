// Work on many items in short slices, so that the page never freezes.

const SLICE = 12; // milliseconds
const latest = new Map<string, object>();

interface Work<T> {
  items: readonly T[];
  each: (item: T) => void;
  done: () => void;
  /** Called after each slice but the last. */
  report?: (place: number) => void;
}

/** Works through some items; a later call with the same name replaces it. */
export function workThrough<T>(name: string, { items, each, done, report }: Work<T>): void {
  const token = {};
  latest.set(name, token);
  let place = 0;
  function step(): void {
    if (latest.get(name) !== token) return;
    const end = performance.now() + SLICE;
    while (place < items.length && performance.now() < end) {
      each(items[place]!);
      place += 1;
    }
    if (place === items.length) {
      done();
      return;
    }
    report?.(place);
    setTimeout(step);
  }
  step();
}

export function stopWork(name: string): void {
  latest.delete(name);
}
