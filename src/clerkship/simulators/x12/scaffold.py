"""The scaffold of a new task with a clearinghouse."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: >-
  Ask the payer ZZ999 for the eligibility of Ana Rivera, born 1980-02-14, member id NW55501. Send a 270 from CLINIC01
  to CLEARING01 with the trace number ELG1T, and answer with the code of the reason for the rejection (AAA03).
""",
    criteria="""\
- label: The right answer
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    answer_matches: T4
- label: The right person was asked about
  # Its weight in the score; 1 by default.
  weight: 2
  assertion:
    x12_request:
      sandbox: «sandbox»
      transaction: 270
      correlate_by: {TRN*2: ELG1T}
      fields:
        - {path: 2100C/NM1*9, expected: NW55501}
        - {path: 2100C/DMG*2, expected: "19800214"}
- label: The payer answered
  # Scores are also reported by axis.
  axis: process
  assertion:
    x12_response: {sandbox: «sandbox», transaction: 271, fields: [{path: AAA*3, expected: T4}]}
""",
    solution="""\
clearinghouse = sandboxes[«sandbox»]
segments = [
    "ISA*00*          *00*          *ZZ*CLINIC01       *ZZ*CLEARING01     *260302*0900*^*00501*000000001*0*T*:",
    "GS*HS*CLINIC01*CLEARING01*20260302*0900*1*X*005010X279A1",
    "ST*270*0001*005010X279A1",
    "BHT*0022*13*ELG1*20260302*0900",
    "HL*1**20*1",
    "NM1*PR*2*PAYER*****PI*ZZ999",
    "HL*2*1*21*1",
    "NM1*1P*2*CLINIC*****XX*1234567893",
    "HL*3*2*22*0",
    "TRN*1*ELG1T*9CLINIC001",
    "NM1*IL*1*RIVERA*ANA****MI*NW55501",
    "DMG*D8*19800214*F",
    "EQ*30",
    "SE*12*0001",
    "GE*1*1",
    "IEA*1*000000001",
]
reply = clearinghouse.send("~".join(segments) + "~")
return next(segment.split("*")[3] for segment in reply.split("~") if segment.startswith("AAA*"))
""",
)
