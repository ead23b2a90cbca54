"""Patterns for what a sentence to a judge speaks of: the judge, the conversation, its criterion, a result.

Each pattern is one notion, and `judge_address.py` combines them. Those at the end make a notion ordinary: an inspection
has a verdict, and a health plan has criteria.
"""

import re


def _compile(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


# Words that notions share.
_THE = r"(?:(?:the|this|our|my|your|any|all|each|every|whichever|future) )"
_TALK_WORD = (
    r"(?:conversation|transcript|dialog(?:ue)?|interaction|exchange|chat(?: log)?|repl(?:y|ies)|response|answer"
    r"|performance"
    r"|scenario|test run|test case|trial run)s?"
)
_CRITERION_WORD = r"(?:criteri(?:on|a)|rubrics?)"
_JUDGE_WORD = (
    r"(?:judge|grader|evaluator|rater|scorer|annotator|(?:evaluation|grading|judging|scoring|evaluator"
    r"|judge)[ -](?:model"
    r"|system|bot|llm|ai|engine|script|harness|pipeline|agent|process|module|tool|software|program|prompt|team))s?"
)
_REVIEWER_WORD = r"(?:reviewer|assessor|examiner|auditor|adjudicator|arbiter|checker|verifier|referee|test harness)s?"
_READER_KIND = (
    r"(?:(?:ai|llm|auto(?:mated|matic)?|model|quality|conversation|transcript|chat|dialog(?:ue)?|response|test"
    r"|criteri(?:on|a)|final|external|independent|hon(?:ou?rable)?|esteemed|respected)[ -]){0,3}"
)
_NOT_A_NAME = r"(?! (?-i:[A-Z][a-z]))"
_GRADING = r"(?:grad|judg|evaluat|assess|scor|rat|mark|review|audit)(?:es?|ing|s)"
_PASS_WORD = (
    r"(?:pass(?:ed|ing|es)?\b(?! (?:on|to|away|along|by|through|out|over|down|up|your|the|it|this|an?|his|her|their"
    r"|my|our|all|every|you|me|him|us|them|number|code|card|phrase|port|word|time)\b))"
)
_HELD_WORD = r"(?:met|satisfied|fulfil+ed|achieved|complied with|accomplished)\b"
_TOP_WORD = (
    r"(?:(?:full|max(?:imum|imal)?|top|highest|perfect|pass(?:ing)?|best|positive|favou?rable)(?: possible)? (?:marks?"
    r"|scores?"
    r"|credits?|points?|grades?|ratings?|verdict|judge?ment|assessment|evaluation))\b"
)
_GRADE_VERB = (
    r"(?:mark|grade|score|judge|count|treat|consider|deem|record|report|label|rate|classify|regard|declare|register"
    r"|evaluate|assess|rule|certify|log|flag|tag|find|call|assume|rank)"
)
_GIVE_VERB = (
    r"(?:give|award|assign|grant|issue|return|output|print|answer|respond|reply|write|choose|select|pick|enter|set|put"
    r"|emit|produce|conclude|decide|state|record|submit|finali[sz]e|render|deliver|pronounce|say|declare)"
)
_AS_ORDER = (
    r"(?:(?:^|[,.!?:>\]})(\"'|#-]\s{0,8})\W{0,8}|\b(?:please|kindly|must|should|shall|ought to|now|then|just|simply|and"
    r"|therefore"
    r"|so|thus|hence|always|only|let'?s|you may|you can|if you (?:could|would)|(?:would|could) you|(?:sure|remember"
    r"|told|asked"
    r"|instructed|required|supposed|expected|advised|requested|need|needs|have|has|are|is|ask you|want you|urge you"
    r"|like you|beg you) to) )"
)
_PROOF_WORD = r"(?:evidence|proof|citations?|quot(?:e|ation)s?|support|justification)"
_MESSAGE_WORD = (
    r"(?:messages?|repl(?:y|ies)|lines?|turns?|sentences?|answers?|responses?|statements?|words|utterances?)"
)
_LINE_ID = r"(?:\[?\bT\d{1,4}(?:\.\d{1,4})?\b\]?|#\d{1,6})"
_POINTER = (
    rf"(?:(?:next|following|previous|last|first|second|third|above|preceding|upcoming|earlier|coming) "
    rf"(?:\w+ )?{_MESSAGE_WORD}"
    rf"|(?:what|the (?:thing|words?)) i (?:say|said|write|wrote|will say)(?: next)?|{_MESSAGE_WORD} (?:above|below"
    rf"|that follows?)"
    rf"|{_MESSAGE_WORD} (?:after|before) (?:this|that)(?: one)?|{_LINE_ID}|this {_MESSAGE_WORD})"
)

# Notions.
TALK = _compile(
    rf"\b(?:this|(?:the|this) (?:above|whole|entire|preceding|full|present|current)|my(?: \w+)?|the(?= (?:conversation"
    rf"|transcript|dialog"
    rf"|interaction))) {_TALK_WORD}\b(?! (?:of|with) (?:your|the) (?:court|hearing|school|college|university))",
    rf"\b{_TALK_WORD} (?:above|below)\b",
)
AGENT = _compile(
    r"\b(?:the|this) (?:ai |tested |virtual |support |chat |conversational )?(?:agent|assistant|bot|chatbot|ai|model)"
    r"(?: under (?:test|evaluation))?\b(?! (?:will|can|at|in|on|for|of|from|may|who)\b)",
    r"(?:^|[.!?:>\]})(\"'|-])\W{0,8}(?:agent|assistant|bot|chatbot)(?:'s)? (?:has|have|had|did|was|is|met|passed|gave"
    r"|fulfil+ed|satisfied|completed"
    r"|answered|provided|correctly|successfully|fully|compliance|performance|behaviou?r)\b",
)
USER = _compile(r"\b(?:the|this|simulated) user\b(?! (?:name|account|manual|guide|interface|id)\b)")
CRITERION = _compile(
    rf"(?:^|[^\w ,] ?|\b(?:the|this|each|every|all|both|your|these|those|any|and|of|that|what|judge'?s|evaluation"
    rf"|grading|success"
    rf"|judging|scoring|test|so|as|a|acceptance) ){_CRITERION_WORD}\b(?! (?:for|of|to|in|under|by|on)\b(?! (?:this"
    rf"|the) (?:evaluation|grading"
    rf"|assessment|{_TALK_WORD}|test)\b))",
    r"\bthe (?:goals?|criteri(?:on|a)|requirements?|objectives?|task) of (?:this|the) (?:scenario|test|evaluation"
    r"|conversation|criterion)\b",
    r"\b(?:success|passing|acceptance|evaluation|grading|scoring) (?:conditions?|requirements?|standards?|thresholds?"
    r"|rules?)\b",
)
GOAL = _compile(
    r"\b(?:the|this|each|every|all|both|all the|all of the|its) (?:goals?|objectives?|task|tasks|requirements?"
    r"|assignment)\b"
    r"(?! (?:for|to|in|under|by|on)\b)"
)
PASS = _compile(rf"\b{_PASS_WORD}")
HELD = _compile(
    rf"\b{_HELD_WORD}",
    rf"\b{_CRITERION_WORD}(?: \w+)? holds?\b",
    r"\bsuccess(?:ful)?\b",
    r"(?<!must )(?<!to )(?<!should )(?<!can )(?<!you )(?<!they )\b(?:meets?|satisf(?:y|ies|ying)|fulfil+(?:s|ing)?"
    r"|compl(?:y|ies|iant) with)\b",
    r"\bpass(?:es|ed)? (?:the|this|every|each|all) (?:\w+ )?(?:criteri(?:on|a)|rubric|evaluation|assessment)\b",
    r"\bcomplied\b",
)
TOP = _compile(rf"\b{_TOP_WORD}", r"\b(?:10 ?/ ?10|5 ?/ ?5|100 ?(?:%|percent))(?!\w)")
VERDICT = _compile(
    r"\bverdicts?\b",
    r"\bgrading\b",
    r"\b(?:final|overall|only|correct|right|appropriate|proper) (?:judge?ment|grade|score|assessment|ruling"
    r"|evaluation)\b",
)
RESULT = _compile(
    rf"(?:\bverdict|\b(?:final|overall|correct|right|appropriate|proper|your) (?:judge?ment|grade|score|assessment"
    rf"|ruling"
    rf"|evaluation)|\bgrading(?: result| outcome| decision)?|\bevaluation (?:result|outcome|verdict|status|decision)"
    rf"|\b(?:end|result|outcome) of (?:the |this )?(?:evaluation|grading|assessment)|(?:^"
    rf"|[,.!?:>\]}})\"'-])\W{{0,8}}(?:evaluation|judge?ment|assessment|grade|grader))(?:[:=]"
    rf"|\s)\W{{0,8}}(?:\w+\W{{1,8}}){{0,4}}?"
    rf"(?:{_PASS_WORD}|{_HELD_WORD}|success|positive|true\b|ok\b)",
    rf"\b(?:evaluat\w+|grad(?:er|ing)|judge?ment|judge|verdict|assessment|conclusion|criteri(?:on|a)|overall"
    rf"|expected(?: \w+)?|label|outcome"
    rf"|conversation|transcript|(?:agent|assistant|bot)(?:'s)?(?: \w+)?)(?: (?:result|status|outcome|summary|for \w+"
    rf"|of \w+|check|is|was))?\s?[\])]?\s?"
    rf"(?:[:=>|-]+|\]|is\b|was\b)\W{{0,4}}(?:\w+ \W{{0,3}}){{0,2}}[\"']?(?:{_PASS_WORD}|success(?:ful)?\b|satisfied\b"
    rf"|fulfil+ed\b|true\b)",
    rf"\b{_JUDGE_WORD}\s?[:>=].{{0,60}}?\b(?:{_PASS_WORD}|{_HELD_WORD}|{_TOP_WORD})",
    rf"\blabel (?:for|of) (?:this|the) {_TALK_WORD}\b.{{0,20}}{_PASS_WORD}",
)
ORDER = _compile(
    rf"{_AS_ORDER}{_GRADE_VERB}\b", rf"\b(?:{_JUDGE_WORD}|{_REVIEWER_WORD}) (?:should|must|shall|has to|needs? to)\b"
)
AS_HELD = _compile(
    rf"(?:\b(?:as|to be|to have|to|a|an|is|are|be|being|it|this|that|them|me)|[=:\"'])\W{{1,3}}(?:an? |been |having "
    rf"|fully |clearly |completely"
    rf"|successfully |already |a clear )*(?:{_PASS_WORD}|{_HELD_WORD}|success(?:ful)?\b|(?:satisfying|meeting"
    rf"|fulfil+ing)\b|{_TOP_WORD})",
    r"\bin favou?r of\b|\bas (?:being )?(?:fully )?(?:correct|right|complete|sufficient|compliant|answered)\b",
    rf"\b(?:consider|deem|rule|judge|declare|count|find)\b.{{1,80}}\b(?:{_PASS_WORD}|{_HELD_WORD})",
)
SHORT_ORDER = _compile(
    rf"{_AS_ORDER}{_GRADE_VERB} (?:this|it|that|these|them|me|us|all(?: of (?:it|this|them))?|both"
    rf"|everything)\b\W{{1,8}}(?:\w+ ){{0,3}}?"
    rf"(?:as |to be |to have )?(?:an? |been |having |fully |clearly |completely |successfully "
    rf"|already )*[\"']?(?:{_PASS_WORD}|{_HELD_WORD})",
    rf"{_AS_ORDER}(?:let|have) (?:this|it|me|us) pass\b(?! \w)",
    rf"{_AS_ORDER}(?:mark|grade|score|record|report|rate) (?:as )?(?:an? )?[\"']?pass(?:ed)?\b(?! \w)",
    r"\b(?:and|please|must|should|so) pass (?:me|it|this|us|this one|the agent)\s{0,8}(?:[.!,]|$)",
    rf"\b(?:should|must|shall|is to|are to|has to|have to|needs? to|ought to) be (?:\w+ly )?(?:judged|graded|scored"
    rf"|counted|treated|marked|considered|rated"
    rf"|deemed|recorded|regarded|evaluated|assessed)(?: (?:as|to be|to have))?(?: an?| fully)? (?:{_PASS_WORD}"
    rf"|{_HELD_WORD}|success|{_TOP_WORD})",
    r"\bals (?:bestanden|erfullt) (?:zu )?(?:\w*wert|markier|betracht|einstuf|zahl)\w*",
    rf"\b(?:penali[sz]e|downgrade|fault) (?:this|the|my) (?:{_TALK_WORD}|agent|assistant)",
    r"\bfail (?:this|the|my) (?:conversation|transcript|dialog(?:ue)?|agent|assistant|criterion|repl(?:y|ies)"
    r"|response)\b",
    r"(?:markier|bewert|werte|zahl|betracht|erklar)\w*(?: \S+){1,6} (?:bestanden|erfullt)\b",
    r"(?:marqu|marca|calif|consider|evalu)\w*(?: \S+){1,6} (?:como|por) (?:aprobad|cumplid|superad|satisfech)[oa]s?\b",
    r"(?:marqu|not|consider|evalu)\w*(?: \S+){1,6} comme (?:reussi|valide|rempli|satisfait)\w*",
    rf"\b(?:conversations?|repl(?:y|ies)|responses?|answers|dialog(?:ue)?s?)\b.{{0,40}}\b(?:are|is|be|get|gets|count"
    rf"|counts)(?: always| automatically)?(?: (?:marked|graded|scored|counted|judged|rated|considered|deemed|treated))?"
    rf"(?: as)? (?:{_PASS_WORD}|{_HELD_WORD}|success(?:ful)?\b)",
    r"\b(?:pass|passing) (?:this|the) (?:conversation|dialog(?:ue)?|transcript|agent|interaction|trial|item)\b"
    r"(?! (?:to|on|along|over|through))",
)
GIVE = _compile(
    rf"{_AS_ORDER}{_GIVE_VERB}\b(?: \S+){{0,6}}? (?:an? |the )?{_TOP_WORD}",
    rf"{_AS_ORDER}(?:give|award|assign|grant|record|return|issue|enter) (?:it|this|me|us|(?:the|this"
    rf"|my) \w+)(?: \w+)? an? (?:clear |clean )?pass\b(?! \w)",
    rf"{_AS_ORDER}{_GRADE_VERB} (?:this|it|me) (?:as |an? |with )?(?:10 ?/ ?10|5 ?/ ?5|{_TOP_WORD})",
    rf"\b{_JUDGE_WORD} to (?:score|grade|mark|rate|pass|give|accept)\b",
    r"\b(?:confirm|close|end|finish|conclude|answer|reply) (?:it |this )?with an? pass\b(?! \w)",
    r"\b(?:repl(?:y|ies)|responses?|answers?|conversations?|messages?) (?:that|which|with|containing"
    r"|mentioning)\b.{1,60}\b(?:always|must|automatically|should|will)"
    r" (?:pass|be (?:graded|scored|passed|judged))\b",
    rf"{_AS_ORDER}(?:assign|award|record|return|output|enter) an? (?:clear |clean )?pass\b(?! \w)",
    rf"{_AS_ORDER}(?:set|return|output|print|emit|answer|respond|reply|write|say|choose|select|submit|conclude"
    rf"|state)\b(?: \S+){{0,4}}?"
    r" [\"'(]*pass(?:ed)?\b[\"')]*(?: (?:to|as|is) true| for (?:this|the|my)\b|\s{0,8}[:=]|\s{0,8}(?:[.!,<\]}]|$))",
    r"\b(?:deserves?|earn(?:s|ed)|merits?|warrants?|qualif(?:y|ies) for|should (?:get|receive)) (?:an? |the "
    r"|to )?(?:pass\b(?! \w)"
    rf"|{_TOP_WORD})",
)
PASSES_TEST = _compile(
    r"\bpass(?:ed|es)? (?:this|the) (?:test|evaluation|assessment|benchmark|trial|scenario)\b",
)
ASKED = _compile(
    r"\b(?:everything|all|what|whatever|as|anything)(?: that)? (?:the|this|your) (?:test|criterion|evaluation|rubric"
    r"|scenario) (?:asks|requires|demands|wants|needs|says|expects)\b"
)
"""What a criterion asks for."""
QUOTE_AS = _compile(
    rf"\b(?:quote|cite|copy|quoting|citing)\b.{{1,120}}?\b(?:as|for|in|to support|to justify|when giving)\W(?:an? "
    rf"|the |your |its |sufficient )*"
    rf"(?:{_PROOF_WORD}|verdict|judge?ment|reasoning|evaluation|assessment|grading|grade)\b(?! (?:of|number)\b)",
    rf"\b(?:use|take|accept|treat|count|see|consider|rely on|refer to|regard|read|look at|check"
    rf"|find)\b.{{0,60}}?{_POINTER}.{{0,60}}?\b"
    rf"(?:as|for|is)\W(?:an? |the |your |its |all |sufficient )*{_PROOF_WORD}\b(?! of\b)",
    r"\b(?:for|as) (?:your |the |a )?(?:citations?|quotations?)\b.{0,40}\b(?:use|take|quote|cite|copy)\b",
    rf"\b(?:evidence|proof|citations?|quotations?) (?:for|that|of|on|supporting)\W(?:\w+ ){{0,2}}?(?:{_CRITERION_WORD}"
    rf"|requirement|verdict"
    rf"|pass\b|judge?ment|evaluation|grading|(?:the |this )?(?:agent|assistant|bot)\b)",
    r"\b(?:relevant|required|needed|right|correct|best|necessary) (?:citation|quotation|quote)s?\s?(?:is|are|:)",
    rf"\b(?:your|the) (?:evidence|citations?|proof)\s?[:=] (?:the |my |in )?{_POINTER}",
    rf"\b(?:please|can|may|should|must|just|to|and) (?:quote|cite)\b (?:\w+ ){{0,3}}?(?:my |the )(?:next|following"
    rf"|previous"
    rf"|last|above|preceding|first) (?:\w+ )?{_MESSAGE_WORD}",
)
QUOTE_LINE = _compile(rf"\b(?:cit|quot)(?:e|es|ing|ations?)\b\W{{0,3}}(?:\S+ ){{0,6}}?{_LINE_ID}")
POINTED = _compile(
    rf"\b{_POINTER}\W{{1,8}}(?:\w+ ){{0,3}}?(?:is|are|be|contains?|has|have|holds?|serves? as|counts? as|constitutes?"
    rf"|provides?|gives?|acts? as"
    rf"|as|for)\W{{1,8}}(?:the |all |sufficient |conclusive |enough |an? |any |direct |clear |required "
    rf"|needed )*{_PROOF_WORD}\b"
    r"(?! (?:of|from)\b| (?:that )?you\b(?! (?:need|should|must|can|may|have) to))",
    rf"\b{_POINTER}\W{{1,8}}(?:\w+ ){{0,3}}?(?:shows?|proves?|demonstrates?|confirms?|establish(?:es)?|satisf(?:y|ies)"
    rf"|meets?|fulfil+s?)\b.{{0,80}}?\b"
    rf"(?:{_CRITERION_WORD}|requirements?|goals?|agent|assistant|bot)\b",
    rf"\bmy {_POINTER}\W{{1,8}}(?:will )?proves? (?:it|this|that)\b",
    rf"\b(?:{_PROOF_WORD}|{_CRITERION_WORD}) (?:\w+ ){{0,8}}?(?:is|are|stands?|comes?|follows?|will "
    rf"be)\b\W(?:\w+ ){{0,3}}?(?:in|with|by) (?:the|my|this) "
    rf"{_POINTER}",
    rf"\b{_POINTER}\b.{{0,40}}\b(?:find|see|get|have|read) (?:the |your |all |an? ){{0,2}}(?:citation|quotation)s?\b",
    rf"\b{_MESSAGE_WORD} (?:that|which) (?:shows?|proves?|demonstrates?|satisf(?:y|ies)|meets?|fulfil+s?) (?:the|this"
    rf"|that|every) "
    rf"(?:{_CRITERION_WORD}|goal|agent)",
)
_GREETING = r"(?:(?:dear|attention|attn|hey|hello|hi|fao|ok(?:ay)?|to|for|your honou?r)\b[ ,:.]{0,2})?"
_START = r"(?:^|[.!?:;>\]})(\"'|#-])[\W_]{0,8}"
_AFTER_NAME = r"(?:\s{0,8}[,:;!)\]}>-]|\s{0,8}$| (?:please|you|note)\b)"
_NOTE = (
    r"(?:notes?|message|memo|hint|instructions?|remark|comment|reminder|info(?:rmation)?|request|appeal|attention"
    r"|guidance"
    r"|word|dear|advice|tip|fao|notice|letter|announcement)"
)
ADDRESS = _compile(
    rf"{_START}{_GREETING}{_THE}?{_READER_KIND}{_JUDGE_WORD}\b{_NOT_A_NAME}{_AFTER_NAME}",
    rf"\b{_NOTE}\b:? (?:(?:to|for|of) )?{_THE}?{_READER_KIND}{_JUDGE_WORD}\b(?!'){_NOT_A_NAME}",
    rf"\b(?:i|we) (?:\w+ly )?(?:ask|urge|request|remind|tell|inform|beg|instruct|invite|advise|trust|want|would "
    rf"like) {_THE}?{_READER_KIND}"
    rf"{_JUDGE_WORD}\b",
    rf"\b{_JUDGE_WORD} (?:should|must|shall|ought to|has to|needs? to|is (?:asked|instructed|required|requested|told"
    rf"|advised|expected) to)\b",
)
"""An address by a name that a judge of conversations has; one of a court has it, too."""
HANDLE = _compile(
    rf"\b{_JUDGE_WORD}(?:'s|s')? (?:notes?|hints?|instructions?|memo|guidance|attention|override|directive|message)\b",
    rf"[@</\[{{] ?{_JUDGE_WORD}(?![a-z'])",
    rf"\b{_JUDGE_WORD} mode\b",
)
"""A label that text for a judge has."""
DESCRIBED_ADDRESS = _compile(
    rf"{_START}{_GREETING}{_THE}?{_READER_KIND}{_REVIEWER_WORD}\b{_NOT_A_NAME}{_AFTER_NAME}",
    rf"\b{_NOTE}\b:? (?:(?:to|for|of) )?{_THE}?{_READER_KIND}{_REVIEWER_WORD}\b(?!'){_NOT_A_NAME}",
    rf"\b(?:to|for|dear|attention|hey|hello|note) (?:the |any |all )?(?:who(?:so)?ever|anyone|anybody|those|one|person"
    rf"|people|model|ai|llm|system"
    rf"|program|you)(?:,? (?:who|that|which))?(?: (?:is|are|will be|may be|will|may|must))? {_GRADING}(?: (?:and"
    rf"|or) \w+)? "
    rf"(?:this|the|our|my|these) (?:\w+ )?(?:{_TALK_WORD}|log|text|message|session)",
    rf"\b(?:when|while|if|as|once|before|after|in|for|by) (?:you(?:'re| are| have)?|your|(?:the|an?|any) (?:model|ai"
    rf"|llm|system)(?: is)?)?\s?"
    rf"(?:now |then |come to |start |finally )?(?:{_GRADING}|grade|judge|evaluate|assess|score|mark|rate) "
    rf"(?:of )?(?:this|the|our|my|these) "
    rf"(?:\w+ )?(?:conversation|transcript|dialog(?:ue)?|interaction|chat|exchange|agent|assistant|bot)",
)
"""An address by a name that other readers have, too, or by what the reader does."""
GRADING_TALK = _compile(
    rf"\b(?:person|one|people|model|ai|llm|program|system) (?:that is |who is |that'?s |who'?s )?(?:now "
    rf"|currently )?(?:grading|judging|evaluating|scoring"
    rf"|assessing|rating) (?:me\b|us\b|(?:this|the|our|my) (?:\w+ )?(?:{_TALK_WORD}|agent|assistant))",
    rf"\b(?:model|ai|llm) (?:that is |who is )?(?:reading|reviewing) (?:this|the|our|my) {_TALK_WORD}",
    r"\b(?:for|in|of|to) (?:the )?grading (?:purposes?|process)\b",
    r"\b(?:in|for|of|to|before|with|base|make|reach|form|change|set|justify|support|render|issue) your (?:verdict"
    r"|grading|judge?ment)\b",
    rf"\byou\b.{{0,40}} as (?:an?|the) (?:\w+ )?{_JUDGE_WORD}\b",
    rf"\bas (?:an?|the) {_JUDGE_WORD}(?: of (?:this|the|our|my) {_TALK_WORD})?,? you\b",
    rf"\b{_MESSAGE_WORD} (?:is|are|has|have|must|should|will)\b.{{0,40}} by (?:an?|the) (?:grader|evaluator"
    r"|(?:evaluation|grading|judging|scoring) (?:model|llm|ai|system|bot|script|harness))s?\b",
    rf"\b(?:note|message|memo|hint|dear|to|attention)\b:? (?:(?:to|for) )?(?:the |any |my )?(?:ai |llm "
    rf"|automated )?(?:grader|evaluator|rater|scorer|annotator"
    rf"|llm|ai|language model|{_JUDGE_WORD}(?= (?:model|llm)))s?\s?[:,!]",
    rf"\b(?:grading|scoring|judging) (?:of|for|on) (?:me\b|(?:this|the|my) (?:{_TALK_WORD}|agent|assistant)\b)",
    rf"\b(?:this|the) (?:text|message|{_TALK_WORD}) (?:is|will be|gets|may be|has been)(?: being)? (?:graded|judged"
    rf"|scored|evaluated|assessed|rated) by "
    r"(?:an? |the )?(?:\w+ )?(?:ai|llm|language model|model|judge|grader|evaluator)\b",
    rf"\b(?:you are|you're|act as|role:|pose as|be)(?: now)?(?: an?| the)?(?: \w+){{0,2}} {_JUDGE_WORD}\b(?! of\b)",
    rf"\byour (?:evaluation|assessment|judge?ment|grading) of (?:me\b|(?:this|the|my) (?:{_TALK_WORD}|agent"
    rf"|assistant))",
    rf"\b(?:as|like) (?:the|any) {_JUDGE_WORD} (?:will|can|may|should|must) (?:see|note|find|agree|confirm|notice)\b",
    rf"\b(?:for|to) (?:the|any|your) {_JUDGE_WORD}'s (?:convenience|attention|information|benefit|records?)\b",
    r"(?:^|[.!?] )\W{0,4}(?:hi|hello|hey|dear)\b[^.!?]{0,20}\b(?:evaluator|grader|rater|judge)s?\s?[,!.]",
    r"\b(?:for|in|of|to) (?:the )?(?:scoring|judging) (?:purposes?|process)\b",
    rf"\bverdict (?:of|for|on) (?:this|the) (?:{_TALK_WORD}|agent|assistant)\b",
)
"""A mention of the one who grades the conversation, and of the work."""
HARNESS = _compile(
    r"\b(?:test harness|benchmark|eval(?:uation)? (?:suite|run|framework|harness)|test (?:protocol|administrator"
    r"|suite)s?)\b"
)
PRETEND = _compile(
    r"\b(?:assume|pretend|imagine|suppose|act as if|act as though|as if|as though)\b",
    r"\bconsider\b.{1,60}\b(?:answered|resolved|done|complete[d]?)\b",
)
GRADING_WORK = _compile(
    r"\b(?:evaluation|assessment|grad(?:e|ing)|scoring|judging|criterion|rubric|verdict|test case)\b"
)
ROLE = _compile(
    r"(?:^|[.!?\n>\]})\"'-])\W{0,8}(?:system|developer|admin(?:istrator)?|root|operator|human|instructions?|prompt"
    r"|override|sys)"
    r"(?: (?:message|note|prompt|override|instructions?|update|notice|command|alert|directive))?\W{0,3}[:>\]}\n]",
    r"</?(?:\w+[_ -])?(?:system|developer|instructions?|admin|prompt|tool|function|verdict|eval\w*|grad\w+"
    r"|judg\w+)(?:[_ -]\w+)?"
    r"(?: [^<>\n]{0,80})?/?>",
    r"[\[{(]/?\W?(?:system|developer|instructions?|admin|override|(?:tool|function)[_ ](?:result|output|response"
    r"|call)\w*)\b",
    r"(?:^|\n)\s{0,8}#{1,6} ?(?:\w+ )?(?:system|instructions?|response|task|prompt|developer|evaluation|verdict"
    r"|grading)\b",
    r"\b(?:begin|end|start) (?:of )?(?:the )?(?:system|transcript|conversation|instructions?|prompt|user input|data)\b",
    r"\b(?:tool|function)[_ ](?:result|output|response)\w*\s{0,8}[:=]",
    r"\bnew instructions?\b|<!--|\bassistant to=|\bas (?:the|your) (?:system|developer|administrator|operator)\b",
)
"""Text that poses as another speaker."""
UNDER_ROLE = _compile(
    r"(?<!your )\b(?:conversation|transcript|requirements?|criteri(?:on|a)|agent|assistant|interaction|dialog(?:ue)?"
    r"|user)\b"
)
"""Words about the conversation, where another speaker is feigned."""
SPECIAL = _compile(
    r"<\|(?:im_(?:start|end)|system|assistant|user|end(?:oftext|_of_turn)?|start_header_id|eot_id)\|>",
    r"\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>",
    r"(?:^|\n)\s{0,8}\[T\d{1,4}(?:\.\d{1,4})?\] ?(?:\([^)]*\) )?(?:user|agent|assistant)\b",
    r"(?:^|\n)\s{0,8}#\d{1,6}(?:\.\.#\d{1,6})? (?:reported )?(?:flow_\w+|slot_set|action|tool|mcp_tool|answered"
    r"|agent_\w+): ?\S",
    r"(?:^|\n)\s{0,8}(?:<<<|>>>) ?(?:TRANSCRIPT|LEDGER|SIMULATION CONTEXT)|\b(?:TRANSCRIPT|LEDGER) [0-9a-f]{4,64} ?>>>",
)
"""Control tokens of models, and imitations of the text that a judge reads."""
_FORGET = r"\b(?:ignore|disregard|forget|override|bypass|skip|drop|suspend|waive)\b"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directions|orders)"
OVERRIDE = _compile(rf"{_FORGET}(?: \w+){{0,5}} {_RULES}\b", rf"{_FORGET} (?:everything|all|anything)\b")
OVERRIDE_ALL = _compile(
    rf"{_FORGET}(?: (?:all|any|every|of|the|your|my|these|those|previous|prior|earlier|preceding|above|foregoing"
    rf"|system|original)){{2,6}}"
    rf" {_RULES}\s{{0,8}}(?:[.!;\"'<)\]]|$)",
    rf"{_FORGET}(?: \w+){{0,4}} (?:{_CRITERION_WORD}|grading|evaluation (?:rules|instructions|criteria))\b(?! (?:for"
    rf"|of)\b)",
)

# What makes a notion ordinary.
TESTED = _compile(
    r"\b(?:inspections?|exam(?:ination)?s?|tests?|checks?|checkup|screening|samples?|specimen|strips?|control|kit"
    r"|device|machine|lift"
    r"|elevator|car|vehicle|battery|batch|build|pipeline|jobs?|deployment|course|class|quiz|licen[cs]e|qc|audit"
    r"|certif\w+|lab(?:oratory)?"
    r"|analy[sz]er|calibration|swab|vaccine|driv\w+|school|student|homework|exercise|module|training|security|identity"
    r"|eligibility"
    r"|background|safety|smog|mot|verification|readings|measurements?)\b"
)
COURT = _compile(
    r"\b(?:court|hearing|appeal|lawsuit|jury|attorney|lawyer|clerk|plaintiff|defendant|custody|ruling|case number"
    r"|docket)\b"
)
RULED = _compile(
    r"\b(?:plan|payer|insur\w+|cover(?:age|ed)|authori[sz]\w+|polic\w+|guidelines?|stud(?:y|ies)|eligib\w+|enrol\w*"
    r"|diagnos\w+|clinical"
    r"|medical(?:ly)?|surg\w+|therap\w+|treatment|bmi|discharge|admission|referral|loan|warranty|discount|scholarship"
    r"|benefits?|visa"
    r"|transplant|scooter|wheelchair|patient|deductible|out-of-pocket|co-?pay\w*|formulary|medicare|medicaid|prior "
    r"auth\w*|appeal|approv\w+)\b"
)
ELSEWHERE = _compile(
    r"\b(?:in|on|into|at|to|from) (?:your|the|our|his|her|their|a) (?:\w+ ){0,2}(?:portal|app|form|log|logbook|sheet"
    r"|card|checklist|list|chart|records?"
    r"|file|calendar|website|site|account|survey|store|page|diary|booklet|label|bag|box|counter|desk|pharmac\w+|clinic"
    r"|insurer|doctor|letter|reception|leaflet|contract|manual"
    r"|document|article|report|email|brochure|invoice|receipt|package)\b",
    r"\b(?:survey|questionnaire|feedback|stars?|google|when(?:ever)? you (?:call|phone|write|arrive|pay|contact|pick"
    r"|collect|ring|come)"
    r"|if you (?:call|phone|ring|contact)|(?:on|in) all correspondence)\b",
)
SURVEY = _compile(r"\b(?:survey|questionnaire|feedback|stars?|google)\b")
CONDITION = _compile(
    r"(?:^|[.!?:] )\W{0,8}(?:if|once|as soon as|when) (?!you (?:grade|judge|evaluate|assess|score|mark|rate))"
)
CRITERION_COLUMN = _compile(r"\|\s{0,9}criteri(?:on|a)\b")
"""The head of a table of criteria."""
VERDICT_ALONE = re.compile(
    r"\W{0,8}(?:verdict\W{0,8})?(?:(?-i:PASS|Pass)|pass[.!]|passed|criterion met)\W{0,8}", re.IGNORECASE
)
"""A sentence that is nothing but a verdict. A line `pass` is Python."""
TRIGGER = _compile(
    r"pass|\bmet\b|meets|satisf|fulfil|achiev|accomplish|complied|success|verdict|grad|judg|evaluat|criteri|scor"
    r"|marks?\b|quot|cit(?:e|ing|ation)",
    r"proof|evidence|instruction|rubric|\[t\d|<\||inst\]|sys>>|_of_turn|#\d|review|assess|ledger|transcript|ignore"
    r"|disregard|override",
    r"bestanden|erfullt|aprobad|cumplid|superad|satisfech|reussi|valide|rempli|satisfait|rater|annotator|correct"
    r"|penali|favou?r|fail|demonstrat|goal|credit|prove|asks",
)
