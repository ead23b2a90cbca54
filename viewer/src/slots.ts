// Places in a trial where an entry puts parts of its own: the viewer has more than the file of a report.
import { createContext, type ComponentType } from "preact";
import type { Criterion } from "./data";
import type { Source } from "./source";
import type { OpenTrial } from "./trial";

/** A part below the lanes that shows the sandboxes at a moment. */
export interface MomentProps {
  source: Source;
  trial: OpenTrial;
  /** The event behind which everything is shown; null if none is selected. */
  seq: number | null;
  /** Called with the moment that is shown, which the lanes mark; null if none is. */
  moved: (seq: number | null) => void;
}

/** A part inside a criterion that a model judged. */
export interface JudgementProps {
  source: Source;
  trial: OpenTrial;
  criterion: Criterion;
  place: number;
}

export interface Slots {
  Moment?: ComponentType<MomentProps>;
  Judgement?: ComponentType<JudgementProps>;
}

export const SlotsContext = createContext<Slots>({});
