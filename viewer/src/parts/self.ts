// A place where a part puts itself, so that others can call its methods. Preact passes `ref` of a part on as a property.

export interface Self<T> {
  current: T | null;
}
