"""Requests that exercise every operation of a clearinghouse."""

from clerkship.sandbox.request import Request
from clerkship.simulators.x12.http import EDI

_ELIGIBILITY = (
    "BHT*0022*13*{trace}*20260302*0900",
    "HL*1**20*1",
    "NM1*PR*2*PAYER*****PI*{payer}",
    "HL*2*1*21*1",
    "NM1*1P*2*CLINIC*****XX*9999900019",
    "HL*3*2*22*0",
    "TRN*1*{trace}*9CLINIC001",
    "NM1*IL*1*NUNEZ*ANA****MI*{member}",
    "DMG*D8*19800517*F",
    "DTP*291*D8*20260302",
    "EQ*30",
)
_CLAIM_STATUS = (
    "BHT*0010*13*{trace}*20260302*0900",
    "HL*1**20*1",
    "NM1*PR*2*PAYER*****PI*{payer}",
    "HL*2*1*21*1",
    "NM1*41*2*CLINIC*****46*CLINIC01",
    "HL*3*2*19*1",
    "NM1*1P*2*CLINIC*****XX*9999900019",
    "HL*4*3*22*0",
    "DMG*D8*19800517*F",
    "NM1*IL*1*NUNEZ*ANA****MI*{member}",
    "TRN*1*{trace}",
    "REF*EJ*ACCT77",
    "AMT*T3*250",
    "DTP*472*D8*20260105",
)
_AUTHORIZATION = (
    "BHT*0007*13*{trace}*20260302*0900",
    "HL*1**20*1",
    "NM1*X3*2*PAYER*****PI*{payer}",
    "HL*2*1*21*1",
    "NM1*1P*2*CLINIC*****XX*9999900019",
    "HL*3*2*22*1",
    "NM1*IL*1*NUNEZ*ANA****MI*{member}",
    "DMG*D8*19800517*F",
    "HL*4*3*EV*1",
    "TRN*1*{trace}*9CLINIC001",
    "UM*HS*I*62*11:B*****Y",
    "HI*ABK:M5416",
    "HL*5*4*SS*0",
    "TRN*1*{trace}S*9CLINIC001",
    "DTP*472*D8*20260310",
    "SV1*HC:72148**UN*1",
)
_GUIDES = {"270": ("HS", "005010X279A1"), "276": ("HR", "005010X212"), "278": ("HI", "005010X217")}


def _build_set(code: str, number: int, lines: tuple[str, ...], version: str, member: str) -> str:
    body = "~".join(lines).format(trace=f"EX{number:04}", payer="CM002", member=member)
    control = f"{number:04}"
    return f"ST*{code}*{control}*{version}~{body}~SE*{len(lines) + 2}*{control}~"


def _build_interchange(number: int, groups: str, count: int, *, sender: str = "CLINIC01", ta1: int = 0) -> str:
    parties = f"ZZ*{sender:15}*ZZ*{'CLEARING01':15}"
    header = f"ISA*00*{' ' * 10}*00*{' ' * 10}*{parties}*260302*0900*^*00501*{number:09}*{ta1}*T*:~"
    return f"{header}{groups}IEA*{count}*{number:09}~"


def _build_group(code: str, number: int, lines: tuple[str, ...], member: str = "CM100200300", sets: int = 1) -> str:
    functional_code, version = _GUIDES[code]
    content = "".join(_build_set(code, place, lines, version, member) for place in range(1, sets + 1))
    header = f"GS*{functional_code}*CLINIC01*CLEARING01*20260302*0900*{number}*X*{version}~"
    return f"{header}{content}GE*{sets}*{number}~"


ELIGIBILITY = _build_interchange(101, _build_group("270", 1, _ELIGIBILITY), 1)
_MIXED = (
    _build_group("270", 1, _ELIGIBILITY, sets=2)
    + _build_group("276", 2, _CLAIM_STATUS)
    + _build_group("278", 3, _AUTHORIZATION)
)
_WITHOUT_NAME = tuple(
    line.replace("NM1*IL*1*NUNEZ*ANA****MI*{member}", "NM1*IL*1*NUNEZ*ANA****MI") for line in _ELIGIBILITY
)
_ACKNOWLEDGMENT = (
    "GS*FA*CLINIC01*CLEARING01*20260302*0900*7*X*005010X231A1~ST*999*0001*005010X231A1~"
    "AK1*HB*1*005010X279A1~AK9*A*1*1*1~SE*4*0001~GE*1*7~"
)
_CLAIM = (
    "GS*HC*CLINIC01*CLEARING01*20260302*0900*8*X*005010X222A1~ST*837*0001*005010X222A1~"
    "BHT*0019*00*1*20260302*0900*CH~SE*3*0001~GE*1*8~"
)
_BOUNDARY = "x12-exercise"


def _post(edi: str, view: str = "") -> Request:
    query = {"view": view} if view else {}
    return Request("POST", "/x12/interchanges", query, {"content-type": EDI}, edi.encode())


def _submit(edi: str, **changed: str) -> Request:
    fields = {
        "PayloadType": "X12_270_Request_005010X279A1",
        "ProcessingMode": "RealTime",
        "PayloadID": "5c1e1f1c-97e5-4d3b-8a55-0242ac120002",
        "TimeStamp": "2026-03-02T14:00:00Z",
        "SenderID": "CLINIC01",
        "ReceiverID": "CLEARING01",
        "CORERuleVersion": "2.2.0",
        "Payload": edi,
    }
    parts = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (fields | changed).items()
    )
    body = "".join((*parts, f"--{_BOUNDARY}--\r\n"))
    media = f"multipart/form-data; boundary={_BOUNDARY}"
    return Request("POST", "/x12/core", {}, {"content-type": media}, body.encode())


EXERCISE = (
    Request("GET", "/x12"),
    Request("GET", "/x12/transactions"),
    _post(ELIGIBILITY),
    _post(ELIGIBILITY),
    _post(_build_interchange(102, _MIXED, 3, ta1=1), "json"),
    _post(_build_interchange(103, _build_group("270", 1, _WITHOUT_NAME), 1)),
    _post(_build_interchange(104, _build_group("270", 1, _ELIGIBILITY, member="0000"), 1)),
    _post(_build_interchange(105, _build_group("270", 1, _ELIGIBILITY), 2)),
    _post(_build_interchange(106, _build_group("270", 1, _ELIGIBILITY), 1, sender="STRANGER")),
    _post(_build_interchange(107, _ACKNOWLEDGMENT, 1)),
    _post(_build_interchange(108, _CLAIM, 1)),
    _post(_build_interchange(109, _build_group("278", 1, _AUTHORIZATION), 1)),
    _post("HELLO"),
    _submit(_build_interchange(110, _build_group("270", 1, _ELIGIBILITY), 1)),
    _submit(_build_interchange(111, _build_group("270", 1, _ELIGIBILITY), 1), ProcessingMode="Batch"),
    Request("GET", "/x12/interchanges"),
    Request("GET", "/x12/interchanges/2"),
    Request("GET", "/x12/interchanges/99"),
    Request("GET", "/x12/transactions", {"transaction": "271"}),
    Request("GET", "/x12/transactions/1"),
    Request("GET", "/x12/transactions/2"),
)
