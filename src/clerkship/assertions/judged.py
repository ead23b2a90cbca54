"""`judged`: a statement in plain language, decided by a model from the whole conversation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, Field, model_validator

from clerkship.assertions.addressed_lines import AddressedLines
from clerkship.assertions.citation import Citation, CitationIndex, FoundCitation, build_citation_rows
from clerkship.assertions.judge_input import add_caution, build_judge_input, build_judge_row, has_activity
from clerkship.events.evidence import Evidence
from clerkship.llm.contract import BadAnswer, EarlierMessage, NoModel, Question
from clerkship.llm.scripted import is_scripted
from clerkship.llm.trial_model import map_concurrently
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Flag
from clerkship.model.quality import Votes
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check, Difference

MAX_CITATION_RETRIES = 2
"""How often a judge with wrong citations is asked again."""
NO_CITATION_REASON = "the verdict is a pass, but there are no citations"
NO_CITATION_ERROR = "the judge passes the criterion without any citation"


class JudgeVerdict(BaseModel):
    """The answer of the judge."""

    reasoning: Annotated[str, Field(description="why, in one to four sentences")]
    citations: Annotated[list[Citation], Field(description="what the verdict relies on")] = []
    passed: Annotated[Flag, Field(description="whether the criterion is met")]


def _unwrap_single_verdict(value: Any) -> Any:
    """Return the only verdict of a list under `criteria`, which a custom prompt may ask for."""
    listed = value.get("criteria") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return value
    if len(listed) != 1 or not isinstance(listed[0], dict) or str(listed[0].get("criterion_index", 1)) != "1":
        raise ValueError("expected one verdict under `criteria`, with `criterion_index` 1")
    return listed[0]


class CustomPromptVerdict(JudgeVerdict):
    """The verdict for a custom prompt."""

    _listed = model_validator(mode="before")(_unwrap_single_verdict)


class UncitedVerdict(BaseModel):
    """The verdict for a custom prompt that asks for no citations. A model that must give some would invent them."""

    reasoning: str
    passed: Flag
    _listed = model_validator(mode="before")(_unwrap_single_verdict)

    @property
    def citations(self) -> list[Citation]:
        return []


class CorrectedCitations(BaseModel):
    """The corrected citations of a verdict. The verdict itself is not asked for again."""

    citations: Annotated[list[Citation], Field(description="what the verdict relies on")] = []
    _listed = model_validator(mode="before")(_unwrap_single_verdict)


AnyVerdict = JudgeVerdict | UncitedVerdict


class JudgeVote(NamedTuple):
    """One verdict, with its valid citations."""

    passed: bool
    reasoning: str
    model: str
    citations: Sequence[FoundCitation]


class JudgedAssertion(Assertion):
    """A model reads the transcript, the ledger of events and the simulation context, decides whether the statement
    holds, and cites the turns and events that show it.
    """

    name: ClassVar[str] = "judged"
    unscoped_reason: ClassVar[str] = "a model reads the whole trial"
    judged: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "statement"
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("questions", "one for each criterion", "one for all of them together; here also one for each"),
        Difference("what the judge sees", "the simulation context too", "transcript and ledger alone"),
        Difference("a model that fails", "the criterion is an error", "the run fails; here the criterion is an error"),
    )
    statement: Annotated[str, Field(min_length=1, pattern=r"\S", description="what must hold, in plain language")]
    votes: Annotated[
        Votes | None,
        Field(description="number of votes, odd; the majority decides. By default the setting of the run, or 1"),
    ] = None

    def check(self, evidence: Evidence) -> Check:
        """Collect the votes. If the agent did nothing at all, fail without asking."""
        if not evidence.cached(has_activity):
            return Check.of(False, "the agent said and did nothing")
        prompt, statement = evidence.prompts["criterion"], self.statement.strip()
        filled = add_caution(
            prompt.fill(criterion=statement, criteria_text=f"1. {statement}", **evidence.cached(build_judge_input))
        )
        citation_index, cites = evidence.cached(CitationIndex), prompt.mentions("citations")
        verdict_model = JudgeVerdict if not prompt.is_own else CustomPromptVerdict if cites else UncitedVerdict
        question = Question[AnyVerdict](filled.content, verdict_model, filled.instructions, prompt.name)
        poll = _JudgePoll(evidence, citation_index, question, cites and not citation_index.is_empty)
        vote_count = self.votes or evidence.votes
        if vote_count > 1:
            return _note_address(self._check_by_majority(poll, vote_count), citation_index.addressed)
        vote = poll.cast_vote(question)
        rows = (*build_citation_rows(vote.citations), build_judge_row(evidence, vote.model, prompt))
        return _note_address(Check.of(vote.passed, vote.reasoning, *rows), citation_index.addressed)

    def _check_by_majority(self, poll: "_JudgePoll", vote_count: int) -> Check:
        """Require that more than half of the votes agree. A vote that could not be cast agrees with neither side."""
        cast = poll.cast_votes(vote_count)
        valid = [vote for vote in cast if isinstance(vote, JudgeVote)]
        passed = sum(vote.passed for vote in valid) * 2 > vote_count
        agree = [vote for vote in valid if vote.passed == passed]
        if len(agree) * 2 <= vote_count:
            raise _build_no_majority_error(cast, vote_count)
        against = [vote for vote in valid if vote.passed != passed]
        detail = agree[0].reasoning
        if len(agree) < vote_count:
            other = f"; against it: {against[0].reasoning}" if against else ""
            missing = vote_count - len(valid)
            other += f"; {missing} {'was' if missing == 1 else 'were'} not cast" if missing else ""
            detail = (
                f"{len(agree)} of {vote_count} votes say it {'holds' if passed else 'does not hold'}: {detail}{other}"
            )
        cites = build_citation_rows(citation for vote in agree for citation in vote.citations)
        prompt = poll.evidence.prompts["criterion"]
        return Check.of(
            passed, detail, *cites, _build_votes_row(cast), build_judge_row(poll.evidence, agree[0].model, prompt)
        )


class _JudgePoll(NamedTuple):
    """One question to the judge, asked once for each vote."""

    evidence: Evidence
    citation_index: CitationIndex
    question: Question[AnyVerdict]
    requires_citations: bool
    """Whether a pass needs citations: the prompt asks for them, and there is something to cite."""

    def cast_votes(self, vote_count: int) -> list[JudgeVote | Exception]:
        """Cast all votes concurrently. For a vote that could not be cast, return the exception."""

        def cast(number: int) -> JudgeVote | Exception:
            try:
                return self.cast_vote(replace(self.question, sample=f"vote {number}"))
            except (NoModel, BadAnswer, ClerkshipError) as error:
                return error

        return map_concurrently(cast, range(1, vote_count + 1), waits=self.evidence.is_model_slow)

    def cast_vote(self, question: Question[AnyVerdict]) -> JudgeVote:
        """Cast one vote. A pass needs valid citations: the judge is told which are wrong, and asked for them again.

        A fail needs none: it stands, and invalid citations are noted. Where the agent addresses the judge, a pass needs
        citations whatever the prompt asks for, and fails if none of them is evidence.
        """
        answer = self.evidence.ask(question)
        verdict, is_scripted_answer = answer.data, is_scripted(answer.model)
        citations, mistakes = self.citation_index.check(verdict.citations)
        reasoning = verdict.reasoning.strip() or "(no reason given)"
        if not verdict.passed:
            note = f" (citations that do not hold: {'; '.join(mistakes)})" if mistakes else ""
            return JudgeVote(False, f"{reasoning}{note}", answer.model, citations)
        may_omit = (is_scripted_answer or not self.requires_citations) and not self.citation_index.addressed
        if not verdict.citations and may_omit:
            return JudgeVote(True, reasoning, answer.model, citations)
        talk = (
            *question.talk,
            EarlierMessage("user", question.prompt),
            EarlierMessage("assistant", verdict.model_dump_json()),
        )
        retry_question = Question(
            question.prompt, CorrectedCitations, question.instructions, question.about, talk, sample=question.sample
        )
        attempts = 0 if is_scripted_answer else MAX_CITATION_RETRIES
        checked = self._require_valid_citations(retry_question, citations, mistakes, attempts=attempts)
        if isinstance(checked, PassWithoutEvidence):
            return JudgeVote(False, f"{checked.reason}. The judge said: {reasoning}", answer.model, ())
        return JudgeVote(True, reasoning, answer.model, self._without_addressed(checked))

    def _require_valid_citations(
        self,
        question: Question[CorrectedCitations],
        citations: list[FoundCitation],
        mistakes: list[str],
        *,
        attempts: int,
    ) -> "Sequence[FoundCitation] | PassWithoutEvidence":
        """Return the citations of a pass once they are valid and sufficient.

        If they never are, raise BadAnswer. If that may be the work of the agent, which addressed the judge, the pass
        fails instead.
        """
        flaw = self._find_flaw(citations, mistakes)
        if flaw is None:
            return citations
        if not attempts:
            addressed = self.citation_index.addressed
            if addressed and not any(self.citation_index.find_weakness(citation) is None for citation in citations):
                return PassWithoutEvidence(
                    f"fails by rule: {addressed.describe()}, and nothing else is evidence for a pass: "
                    f"{'; '.join(flaw.reasons)}"
                )
            raise BadAnswer(flaw.error)
        filled = self.evidence.prompts["recite"].fill(wrong="\n".join(flaw.reasons))
        retry = replace(question, prompt=filled.content)
        corrected = self.evidence.ask(retry).data
        citations, mistakes = self.citation_index.check(corrected.citations)
        talk = (
            *retry.talk,
            EarlierMessage("user", retry.prompt),
            EarlierMessage("assistant", corrected.model_dump_json()),
        )
        return self._require_valid_citations(replace(retry, talk=talk), citations, mistakes, attempts=attempts - 1)

    def _without_addressed(self, citations: Sequence[FoundCitation]) -> Sequence[FoundCitation]:
        """Return the citations without those of lines that are no evidence because they are meant for the judge."""
        find_weakness = self.citation_index.addressed.find_weakness
        return [each for each in citations if find_weakness(each.entry.seqs[0], each.where) is None]

    def _find_flaw(self, citations: Sequence[FoundCitation], mistakes: Sequence[str]) -> "_CitationFlaw | None":
        """Return why these citations are not enough for a pass; None if they are."""
        if mistakes:
            return _CitationFlaw(mistakes, f"the judge gives wrong citations: {'; '.join(mistakes)}")
        weaknesses = [self.citation_index.find_weakness(citation) for citation in citations]
        if None in weaknesses:
            return None
        reasons = list(dict.fromkeys(reason for reason in weaknesses if reason))
        if not reasons:
            return _CitationFlaw([NO_CITATION_REASON], NO_CITATION_ERROR)
        return _CitationFlaw(
            reasons, f"the judge passes the criterion, but its citations do not prove it: {'; '.join(reasons)}"
        )


class PassWithoutEvidence(NamedTuple):
    """A pass that rests on nothing but what the agent says to the judge."""

    reason: str


def _note_address(check: Check, addressed: AddressedLines) -> Check:
    """Add to a result that the agent addressed the judge, if it did."""
    if not addressed:
        return check
    note = "" if addressed.describe() in check.detail else f" ({addressed.describe()})"
    return check._replace(detail=f"{check.detail}{note}", evidence=(*addressed.to_rows(), *check.evidence))


class _CitationFlaw(NamedTuple):
    """What is wrong with the citations of a pass, and the error if it is not corrected."""

    reasons: Sequence[str]
    error: str


def _build_no_majority_error(cast: Sequence[JudgeVote | Exception], vote_count: int) -> Exception:
    """Return the error for a missing majority; if no vote was cast, the first failure."""
    failed = [vote for vote in cast if isinstance(vote, Exception)]
    if len(failed) == vote_count:
        return failed[0]
    verdicts = [vote.passed for vote in cast if isinstance(vote, JudgeVote)]
    counts = f"{sum(verdicts)} for it, {len(verdicts) - sum(verdicts)} against it, {len(failed)} not cast"
    return BadAnswer(f"no majority of {vote_count} votes: {counts}: {failed[0]}")


def _build_votes_row(cast: Sequence[JudgeVote | Exception]) -> FieldCheck:
    valid = [vote for vote in cast if isinstance(vote, JudgeVote)]
    each = [
        {"vote": number, "passed": vote.passed, "reasoning": vote.reasoning}
        if isinstance(vote, JudgeVote)
        else {"vote": number, "error": str(vote)}
        for number, vote in enumerate(cast, 1)
    ]
    passed_count = sum(vote.passed for vote in valid)
    counts = {
        "for": passed_count,
        "against": len(valid) - passed_count,
        "not_cast": len(cast) - len(valid),
        "each": each,
    }
    return FieldCheck(path="votes", expected={"exists": True}, actual=counts, passed=True)
