// What is shown of a trial that is loaded. The choice of a criterion and of an event is shared by its parts.
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { LaneChart } from "../lanes/LaneChart";
import { listLanes, listSpans } from "../lanes/lanes";
import { firstSequence, listSequences } from "../lanes/sequences";
import type { Aim } from "../run/model";
import { useRun } from "../run/RunContext";
import { SlotsContext } from "../slots";
import type { OpenTrial, TrialContent } from "../trial";
import { showCriterion, showMoment } from "./aims";
import { Alerts } from "./Alerts";
import { Attachments } from "./Attachments";
import { BriefSection } from "./BriefSection";
import { CallsSection } from "./CallsSection";
import { ConversationSection } from "./ConversationSection";
import { CriteriaSection } from "./CriteriaSection";
import { Facts } from "./Facts";
import { QualitySection } from "./QualitySection";
import { TimelineSection } from "./TimelineSection";
import { UnauthenticatedSection } from "./UnauthenticatedSection";
import { VoicemailsSection } from "./VoicemailsSection";

interface TrialBodyProps {
  trial: OpenTrial;
  /** Another object when more events have arrived. */
  content: TrialContent;
  aim: Aim | null;
  drawn: () => void;
}

export function TrialBody({ trial, content, aim, drawn }: TrialBodyProps) {
  const { source } = useRun();
  const { Moment } = useContext(SlotsContext);
  const first = useMemo(() => firstSequence(trial), [trial]);
  const [sequence, setSequence] = useState(first);
  const [chosen, setChosen] = useState(-1);
  const [page, setPage] = useState<number | null>(null);
  const [moment, setMoment] = useState<number | null>(null);
  const sequences = useMemo(() => listSequences(trial), [content]);
  const lanes = useMemo(() => listLanes(trial), [content]);
  const spans = useMemo(() => listSpans(trial, lanes), [lanes]);
  const selected = aim?.sort === "e" ? aim.place : null;
  const eventAim = useMemo(() => (selected === null ? null : { seq: selected, withPage: page === selected }), [aim, page]);
  const choose = (place: number) => {
    setChosen(place);
    if (place === -1 || sequences.some((one) => one.place === place)) setSequence(place);
  };
  const open = (seq: number) => {
    setPage(trial.bySeq.get(seq)?.page ? seq : null);
    location.hash = `#t${trial.number}e${seq}`;
  };
  useLayoutEffect(() => {
    if (aim?.sort === "m") showMoment(trial, aim.place);
    if (aim?.sort === "k") showCriterion(trial, aim.place);
  }, [aim]);
  useLayoutEffect(drawn);
  const hasLanes = trial.log.length > 0 && (lanes.filter(({ events }) => events.length).length > 1 || sequences.length > 0);
  return (
    <>
      <Alerts trial={trial} />
      <Attachments trial={trial} />
      <Facts trial={trial} />
      <BriefSection trial={trial} />
      <CriteriaSection trial={trial} chosen={chosen} choose={choose} />
      {hasLanes && <LaneChart trial={trial} lanes={lanes} spans={spans} sequences={sequences} sequence={sequence} chosen={chosen} choose={choose} selected={selected} moment={moment} open={open} />}
      {Moment && trial.log.length > 0 && <Moment source={source} trial={trial} seq={selected} moved={setMoment} />}
      <QualitySection trial={trial} />
      <ConversationSection trial={trial} />
      <CallsSection trial={trial} />
      <VoicemailsSection trial={trial} />
      <TimelineSection trial={trial} aim={eventAim} drawn={drawn} />
      <UnauthenticatedSection trial={trial} />
    </>
  );
}
