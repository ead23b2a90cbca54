"""Words that users write for the words in our names: words of other tools, and of the field.

Each line has the users' words, `>`, and ours, the most likely first. A line holds for whole names too, such as
`fax.delivered`.
"""

from functools import cache

_LINES = """
create add insert upsert update set write store save > put drop write written created updated set
remove destroy erase drop > delete deleted removed
edit modify alter > patch change changed updated
create created added new > put created written
updated modified edited > changed updated
exists exist present found there > present exists state
sent send deliver delivered submit transmit transmitted dispatch post posted > sent delivered queued receive request
send > say
put copy post > drop put
authorize authorise authorized > authorization
upload uploaded save saved > uploaded written
create created add added write written upload uploaded dropped > present state
happen happened > occurred
happens > occurred
dial ring > call
never no > not
submitted filed > requested filed submitted sent action
receive received inbound incoming came > arrived received receive
arrive arrived > arrived receive received
reply replied respond responded response > answered replied answer
begin began begun open opened dial dialed dialled place placed made > started opened
finish finished done complete completed close closed stop stopped terminate hangup > ended completed closed
cancelled canceled abort aborted > cancelled withdrawn ended
fetch fetched get got view viewed retrieve retrieved load loaded > read was_read viewed
query queried search lookup find > searched search where found
execute run invoke invoked used use called > called executed
speak spoke spoken talk say said utter > say spoke uttered says transcript
hear heard listen > heard hear
fail failed error reject rejected deny denied > failed refused rejected
login logon sign_in > signed_in
upload attach attached > uploaded attachments attachment document
phone telephone mobile tel cell > number to voice from telecom
phone telephone call tel ivr > voice call
call calls > voice
recipient receiver addressee target destination callee dest > to receiver recipient
sender origin caller author > from sender
body content contents message msg > text body content
contents content includes include has > contains text
email mail sms texts text > messages message text
mail e_mail > email messages
letter page pages pdf document > document documents page pages fax
sftp ftp disk drive folder filesystem storage > files path
file filename filepath dir directory folder location > path file files
url uri address link endpoint > url address number
ehr emr chart epic record > fhir
patient appointment observation encounter condition medication resource record > resource subject patient
type resource > resource_type type kind
kind sort category class > type kind
type sort category class > kind type
website site web browser page ui > portal
edi claims claim clearinghouse > x12
insurance insurer plan > payer
adt oru mllp interface > hl7
dialog dialogue conversation bot > chat
settings options params parameters configuration cfg conf setup > config settings arguments fields
args arg parameters params input inputs kwargs > arguments fields values config
sandboxes sandbox services systems system apps > simulators simulator sandbox sandboxes
simulator service system app > sandbox simulators kind
env world > environment
data dataset fixtures fixture records > datasets dataset records
case cases test tests > task tasks test_cases
assert asserts check checks expectation rule > assertion assertions criteria
asserts assertions checks check grading graders grader rubric rubrics expectations rules tests > criteria assertions
before_run setup given preconditions arrange script > steps scenario
prompt goal question description task instructions instruction input text > instruction task_item
title id description summary text > label name summary
category categories label labels > tags
steps > scenario
title label name > label name title
persona context background > simulation_context
says say text message first > opening
if match pattern on > when
then reply response answer > say
default otherwise else > fallback
entity entity_id patient > input_entity_id
text texts > sms
routine normal > standard
accepted granted > approved
covered valid > active
f woman > female
m man > male
points score importance > weight
required mandatory must critical blocking hard > gate
dimension > axis
equal equals expect expects value want is eq > expected equals
eq is same > equals
ne neq isnot > not
ge min minimum atleast at_least > gte count
le max maximum atmost at_most > lte count
greater more over > gt gte
less under below > lt lte
regex regexp pattern like > matches text_matches match
oneof one_of any options choices any_of > in any_of
equals contains equal is > matches
match matching filter filters conditions condition with > where matches match
filter filters query params conditions where > search where
expected expect values > fields
field key attribute > path
to recipient > number
status result state > outcome status
kind type name > event
ack > acknowledged
number > to
times number total > count times
date time datetime clock today start_time > at now date start
wait sleep delay pause > advance after at within
deadline max_time limit time_limit max_duration duration > timeout within max_duration
timeout > max_duration within time_limit
order sequence sequential ordered in_order > sequencing in_order order
forbidden forbid absent missing no > none never not_contains absent
contains said > transcript
excludes exclude without > not_contains never none
busy_tone engaged > busy
npi provider > provider_id
dob birthday date_of_birth birth > birth_date birthDate
surname lastname last_name > family
firstname first_name > given
slow lag timeout > latency
crash outage unavailable > error drop
llm gpt ai > openai
script shell exec cmd program binary > command
py > python
rest webhook api url > http
noop none nothing idle dummy > nop
solution reference golden > oracle solution
test start exec execute play eval evaluate > run
check lint verify > validate check
create generate scaffold start > new init
ls > list
results result report details view cat > show
log logs trace > events
diff > compare
retry again repeat > rerun resume trials
rm > delete remove
repeat repeats repetitions runs k n samples iterations > trials
parallel workers jobs threads processes > concurrency
output dest out > out output
format fmt > json
only select pattern name > task tag
fax.delivered fax.failed > fax.status_changed
portal.login portal.logged_in > portal.signed_in
message_contains sms_contains > message_sent
call_made call_placed > voice_call
portal_form > portal_state_match
hl7.receive > hl7.send
hl7_sent > hl7_structural
event > event_occurred
"""


@cache
def list_related_words(written: str) -> tuple[str, ...]:
    """Return our words for a word of a user, the most likely first."""
    return _read_table().get(written, ())


@cache
def _read_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for line in filter(None, _LINES.splitlines()):
        written, _, ours = line.partition(" > ")
        for word in written.split():
            table.setdefault(word, {}).update(dict.fromkeys(each for each in ours.split() if each != word))
    return {word: tuple(ours) for word, ours in table.items()}
