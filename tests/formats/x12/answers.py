"""Answers of payers for tests: 271, 277, 278 response, inquiry and 999."""

from tests.formats.x12.messages import (
    ACKNOWLEDGMENT,
    AUTHORIZATION,
    CLAIM_STATUS,
    ELIGIBILITY,
    PARTIES,
    transaction_set,
)

SUBSCRIBER = PARTIES.subscriber
INQUIRY = "005010X215"
BENEFITS = (
    "EB*1**30**SUMMIT PPO",
    "EB*C*IND*30***23*1500*****Y",
    "EB*B**98^UC***27*25*****Y",
    "EB*A**47*****.2***Y*Y",
    "EB*F**33***23***VS*20**Y",
)


def eligibility_answer_set(*benefits: str) -> str:
    """Return a 271 with these segments after the dates of the plan; some benefits by default."""
    segments = [
        "BHT*0022*11*T270A*20261115*0901",
        *("HL*1**20*1", f"NM1*PR*{PARTIES.payer}"),
        *("HL*2*1*21*1", PARTIES.provider),
        *("HL*3*2*22*0", "TRN*2*T270A*9HARBOR001", SUBSCRIBER, PARTIES.birth, "DTP*346*D8*20260101"),
        *(benefits or BENEFITS),
    ]
    return transaction_set("271", ELIGIBILITY, segments)


def claim_status_answer_set(*claim: str) -> str:
    """Return a 277 with these segments after TRN; a paid claim by default."""
    paid = ("STC*F1:65*20261101**250*180*20261101**20261103*EFT881", "REF*1K*SMC451", "DTP*472*D8*20261005")
    segments = [
        "BHT*0010*08*T276A*20261115*0901*DG",
        *("HL*1**20*1", f"NM1*PR*{PARTIES.payer}"),
        *("HL*2*1*21*1", "NM1*41*2*HARBOR CLINIC*****46*HARBOR"),
        *("HL*3*2*19*1", PARTIES.provider),
        *("HL*4*3*22*0", SUBSCRIBER, "TRN*2*T276A", *(claim or paid)),
    ]
    return transaction_set("277", CLAIM_STATUS, segments)


def authorization_answer_set(*event: str, service: tuple[str, ...] = (), version: str = AUTHORIZATION) -> str:
    """Return a 278 response with these segments after UM, and those of one service after its TRN."""
    segments = [
        "BHT*0007*11*T278A*20261115*0901*18",
        *("HL*1**20*1", f"NM1*X3*{PARTIES.payer}"),
        *("HL*2*1*21*1", PARTIES.provider),
        *("HL*3*2*22*1", SUBSCRIBER),
        *("HL*4*3*EV*1", "TRN*2*T278A*9HARBOR001", "UM*HS*I*62*11:B", *(event or ("HCR*A1*SMA7001",))),
        *("HL*5*4*SS*0", "TRN*2*T278AS1*9HARBOR001"),
        *(service or ("HCR*A1*SMA7001", "DTP*472*RD8*20261201-20261231", "DTP*036*D8*20270215", "SV1*HC:72148**UN*1")),
    ]
    return transaction_set("278", version, segments)


def authorization_inquiry_set() -> str:
    """Return a 278 inquiry by the number of an authorization."""
    segments = [
        "BHT*0007*28*T215A*20261115*0900",
        *("HL*1**20*1", f"NM1*X3*{PARTIES.payer}"),
        *("HL*2*1*21*1", PARTIES.provider),
        *("HL*3*2*22*1", SUBSCRIBER, PARTIES.birth),
        *("HL*4*3*EV*0", "TRN*1*T215A*9HARBOR001", "REF*BB*SMA7001"),
    ]
    return transaction_set("278", INQUIRY, segments)


def rejection_set() -> str:
    """Return a 999 that rejects a 278."""
    segments = [
        *(f"AK1*HI*103*{AUTHORIZATION}", f"AK2*278*0001*{AUTHORIZATION}"),
        *("IK3*NM1*8*2010C*8", "CTX*TRN02:T278A", "IK4*9*67*1", "IK5*R*5", "AK9*R*1*1*0"),
    ]
    return transaction_set("999", ACKNOWLEDGMENT, segments)
