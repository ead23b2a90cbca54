"""What is prescribed: RxNorm's clinical drugs, how each is taken, and beside what it is not given."""

from typing import NamedTuple

from clerkship.synthetic.terms import RXNORM, Term


class Drug(NamedTuple):
    """One drug in one strength."""

    key: str
    term: Term
    name: str
    group: str
    """What it is one of: nobody takes two of a group."""
    dose: float
    unit: str
    times: int
    """A day."""
    sig: str
    ingredients: tuple[str, ...]
    """What somebody allergic to cannot take it."""
    needed: bool = False
    """Taken when needed only."""
    days: int = 90
    avoid: tuple[str, ...] = ()
    """Illnesses and groups of drugs it is not given beside."""
    route: tuple[str, str] = ("26643006", "Oral route")
    ages: tuple[int, int] = (0, 120)
    stopped: str = "Replaced by another drug"
    """Why it is stopped, when it is."""
    refills: int = 3
    """Of what is taken for long; a course has none."""
    first: float = 0
    """The dose of the first day, where that is another."""
    supply: int = 0
    """How many are dispensed of what is taken when needed, where that is fewer than could be taken."""


def _rx(code: str, display: str) -> Term:
    return Term(RXNORM, code, display)


_INHALED = ("447694001", "Respiratory tract route")
_SKIN = ("6064005", "Topical route")
_UNDER_SKIN = ("34206005", "Subcutaneous route")
_KIDNEYS = ("kidney3", "kidney4")
_DAILY = "Take 1 tablet by mouth once daily."
_ROWS = (
    Drug(
        "lisinopril", _rx("314076", "lisinopril 10 MG Oral Tablet"), "lisinopril 10 mg", "renin", 1, "tablet", 1,
        _DAILY, ("lisinopril",), avoid=("kidney4",), stopped="Dry cough",
    ),
    Drug(
        "losartan", _rx("979492", "losartan potassium 50 MG Oral Tablet"), "losartan 50 mg", "renin", 1, "tablet", 1,
        _DAILY, ("losartan",), avoid=("kidney4",),
    ),
    Drug(
        "amlodipine", _rx("197361", "amlodipine 5 MG Oral Tablet"), "amlodipine 5 mg", "calcium", 1, "tablet", 1,
        _DAILY, ("amlodipine",), avoid=("failure",), stopped="Ankle swelling",
    ),
    Drug(
        "hydrochlorothiazide", _rx("310798", "hydrochlorothiazide 25 MG Oral Tablet"), "hydrochlorothiazide 25 mg",
        "diuretic", 1, "tablet", 1, "Take 1 tablet by mouth every morning.", ("hydrochlorothiazide", "sulfonamide"),
        avoid=("gout", "kidney4"), stopped="Low sodium",
    ),
    Drug(
        "metformin", _rx("861007", "metformin hydrochloride 500 MG Oral Tablet"), "metformin 500 mg", "biguanide", 1,
        "tablet", 2, "Take 1 tablet by mouth twice daily with meals.", ("metformin",), avoid=("kidney4",),
    ),
    Drug(
        "glargine", _rx("311041", "insulin glargine 100 UNT/ML Injectable Solution"), "insulin glargine 100 units/mL",
        "insulin", 18, "[iU]", 1, "Inject 18 units under the skin at bedtime.", ("insulin",), route=_UNDER_SKIN,
    ),
    Drug(
        "atorvastatin20", _rx("617310", "atorvastatin 20 MG Oral Tablet"), "atorvastatin 20 mg", "statin", 1, "tablet",
        1, "Take 1 tablet by mouth at bedtime.", ("atorvastatin",),
    ),
    Drug(
        "atorvastatin40", _rx("617311", "atorvastatin 40 MG Oral Tablet"), "atorvastatin 40 mg", "statin", 1, "tablet",
        1, "Take 1 tablet by mouth at bedtime.", ("atorvastatin",),
    ),
    Drug(
        "simvastatin", _rx("312961", "simvastatin 20 MG Oral Tablet"), "simvastatin 20 mg", "statin", 1, "tablet", 1,
        "Take 1 tablet by mouth every evening.", ("simvastatin",), avoid=("calcium",), stopped="Muscle aches",
    ),
    Drug(
        "albuterol", _rx("745679", "200 ACTUAT albuterol 0.09 MG/ACTUAT Metered Dose Inhaler"), "albuterol inhaler",
        "reliever", 2, "puff", 4, "Inhale 2 puffs every 4 to 6 hours as needed for wheezing.", ("albuterol",),
        needed=True, route=_INHALED,
    ),
    Drug(
        "fluticasone", _rx("895994", "120 ACTUAT fluticasone propionate 0.044 MG/ACTUAT Metered Dose Inhaler"),
        "fluticasone 44 mcg inhaler", "steroid", 2, "puff", 2, "Inhale 2 puffs twice daily; rinse mouth after.",
        ("fluticasone",), route=_INHALED,
    ),
    Drug(
        "salmeterol",
        _rx("896209", "60 ACTUAT fluticasone propionate 0.25 MG/ACTUAT / salmeterol 0.05 MG/ACTUAT Dry Powder Inhaler"),
        "fluticasone/salmeterol 250/50 inhaler", "steroid", 1, "puff", 2,
        "Inhale 1 puff twice daily; rinse mouth after.",
        ("fluticasone", "salmeterol"), route=_INHALED,
    ),
    Drug(
        "montelukast", _rx("200224", "montelukast 10 MG Oral Tablet"), "montelukast 10 mg", "leukotriene", 1, "tablet",
        1, "Take 1 tablet by mouth at bedtime.", ("montelukast",), ages=(15, 120), avoid=("depression",),
    ),
    Drug(
        "furosemide", _rx("313988", "furosemide 40 MG Oral Tablet"), "furosemide 40 mg", "diuretic", 1, "tablet", 1,
        "Take 1 tablet by mouth every morning.", ("furosemide", "sulfonamide"),
    ),
    Drug(
        "metoprolol", _rx("866436", "24 HR metoprolol succinate 50 MG Extended Release Oral Tablet"),
        "metoprolol succinate 50 mg", "beta", 1, "tablet", 1, _DAILY, ("metoprolol",), avoid=("asthma",),
    ),
    Drug(
        "carvedilol", _rx("200032", "carvedilol 12.5 MG Oral Tablet"), "carvedilol 12.5 mg", "beta", 1, "tablet", 2,
        "Take 1 tablet by mouth twice daily with food.", ("carvedilol",), avoid=("asthma", "copd"),
    ),
    Drug(
        "spironolactone", _rx("313096", "spironolactone 25 MG Oral Tablet"), "spironolactone 25 mg", "aldosterone", 1,
        "tablet", 1, _DAILY, ("spironolactone",), avoid=(*_KIDNEYS, "hypokalemia", "potassium"),
    ),
    Drug(
        "warfarin", _rx("855332", "warfarin sodium 5 MG Oral Tablet"), "warfarin 5 mg", "anticoagulant", 1, "tablet", 1,
        "Take 1 tablet by mouth every evening, or as the clinic tells you after each INR.", ("warfarin",), days=30,
    ),
    Drug(
        "apixaban", _rx("1364445", "apixaban 5 MG Oral Tablet"), "apixaban 5 mg", "anticoagulant", 1, "tablet", 2,
        "Take 1 tablet by mouth twice daily.", ("apixaban",), avoid=("kidney4",),
    ),
    Drug(
        "aspirin", _rx("243670", "aspirin 81 MG Oral Tablet"), "aspirin 81 mg", "platelets", 1, "tablet", 1, _DAILY,
        ("aspirin", "nsaid"), avoid=("anticoagulant",),
    ),
    Drug(
        "levothyroxine", _rx("892246", "levothyroxine sodium 0.1 MG Oral Tablet"), "levothyroxine 100 mcg", "thyroid",
        1, "tablet", 1, "Take 1 tablet by mouth every morning on an empty stomach.", ("levothyroxine",),
    ),
    Drug(
        "sertraline", _rx("312941", "sertraline 50 MG Oral Tablet"), "sertraline 50 mg", "ssri", 1, "tablet", 1, _DAILY,
        ("sertraline",), stopped="Nausea",
    ),
    Drug(
        "fluoxetine", _rx("310385", "fluoxetine 20 MG Oral Capsule"), "fluoxetine 20 mg", "ssri", 1, "capsule", 1,
        "Take 1 capsule by mouth every morning.", ("fluoxetine",), stopped="Poor sleep",
    ),
    Drug(
        "omeprazole", _rx("198051", "omeprazole 20 MG Delayed Release Oral Capsule"), "omeprazole 20 mg", "proton", 1,
        "capsule", 1, "Take 1 capsule by mouth 30 minutes before breakfast.", ("omeprazole",),
    ),
    Drug(
        "acetaminophen", _rx("198440", "acetaminophen 500 MG Oral Tablet"), "acetaminophen 500 mg", "analgesic", 2,
        "tablet", 3, "Take 2 tablets by mouth every 8 hours as needed for pain.", ("acetaminophen",), needed=True,
        days=30, supply=100,
    ),
    Drug(
        "ibuprofen", _rx("197806", "ibuprofen 600 MG Oral Tablet"), "ibuprofen 600 mg", "nsaid", 1, "tablet", 3,
        "Take 1 tablet by mouth every 8 hours with food as needed for pain.", ("ibuprofen", "nsaid"), needed=True,
        days=30, supply=60,
        avoid=(*_KIDNEYS, "failure", "coronary", "hypertension", "reflux", "anticoagulant", "platelets"),
        stopped="Stomach upset",
    ),
    Drug(
        "naproxen", _rx("198014", "naproxen 500 MG Oral Tablet"), "naproxen 500 mg", "nsaid", 1, "tablet", 2,
        "Take 1 tablet by mouth with food at the start of a headache; at most 2 a day.", ("naproxen", "nsaid"),
        needed=True, days=30, supply=20,
        avoid=(*_KIDNEYS, "failure", "coronary", "hypertension", "reflux", "anticoagulant", "platelets"),
        stopped="Stomach upset",
    ),
    Drug(
        "alendronate", _rx("904419", "alendronic acid 10 MG Oral Tablet"), "alendronate 10 mg", "bone", 1, "tablet", 1,
        "Take 1 tablet by mouth every morning with a full glass of water; stay upright for 30 minutes.",
        ("alendronate",), avoid=(*_KIDNEYS, "reflux"),
    ),
    Drug(
        "ferrous", _rx("310325", "ferrous sulfate 325 MG Oral Tablet"), "ferrous sulfate 325 mg", "iron", 1, "tablet",
        1, _DAILY, ("iron",),
    ),
    Drug(
        "sumatriptan", _rx("313161", "sumatriptan 50 MG Oral Tablet"), "sumatriptan 50 mg", "triptan", 1, "tablet", 1,
        "Take 1 tablet by mouth at the start of a migraine; may repeat once after 2 hours.", ("sumatriptan",),
        needed=True, avoid=("hypertension", "coronary", "ssri"), ages=(18, 65), days=30, supply=9,
    ),
    Drug(
        "cetirizine", _rx("1014678", "cetirizine hydrochloride 10 MG Oral Tablet"), "cetirizine 10 mg", "antihistamine",
        1, "tablet", 1, _DAILY, ("cetirizine",), ages=(6, 120),
    ),
    Drug(
        "loratadine", _rx("311372", "loratadine 10 MG Oral Tablet"), "loratadine 10 mg", "antihistamine", 1, "tablet",
        1, _DAILY, ("loratadine",), ages=(6, 120),
    ),
    Drug(
        "tamsulosin", _rx("863669", "tamsulosin hydrochloride 0.4 MG Oral Capsule"), "tamsulosin 0.4 mg", "alpha", 1,
        "capsule", 1, "Take 1 capsule by mouth 30 minutes after the same meal each day.", ("tamsulosin",),
    ),
    Drug(
        "allopurinol", _rx("197319", "allopurinol 100 MG Oral Tablet"), "allopurinol 100 mg", "urate", 1, "tablet", 1,
        _DAILY, ("allopurinol",),
    ),
    Drug(
        "donepezil", _rx("997223", "donepezil hydrochloride 10 MG Oral Tablet"), "donepezil 10 mg", "cholinesterase", 1,
        "tablet", 1, "Take 1 tablet by mouth at bedtime.", ("donepezil",),
    ),
    Drug(
        "methylphenidate", _rx("1091497", "methylphenidate hydrochloride 5 MG Oral Tablet"), "methylphenidate 5 mg",
        "stimulant", 1, "tablet", 2, "Take 1 tablet by mouth twice daily, before breakfast and lunch.",
        ("methylphenidate",), days=30, ages=(6, 60), refills=0,
    ),
    Drug(
        "levetiracetam", _rx("311289", "levetiracetam 500 MG Oral Tablet"), "levetiracetam 500 mg", "seizure", 1,
        "tablet", 2, "Take 1 tablet by mouth twice daily.", ("levetiracetam",), ages=(12, 120),
    ),
    Drug(
        "hydrocortisone", _rx("106258", "hydrocortisone 10 MG/ML Topical Cream"), "hydrocortisone 1% cream", "cream", 1,
        "application", 2, "Apply a thin layer to affected skin twice daily as needed.", ("hydrocortisone",),
        needed=True, route=_SKIN, days=30,
    ),
    Drug(
        "potassium", _rx("1801294", "potassium chloride 20 MEQ Extended Release Oral Tablet"),
        "potassium chloride 20 mEq", "potassium", 1, "tablet", 1, "Take 1 tablet by mouth once daily with food.",
        ("potassium",), days=30, avoid=(*_KIDNEYS, "aldosterone"),
    ),
    Drug(
        "amoxicillin", _rx("308191", "amoxicillin 500 MG Oral Capsule"), "amoxicillin 500 mg", "antibiotic", 1,
        "capsule", 2, "Take 1 capsule by mouth twice daily for 10 days.", ("amoxicillin", "penicillin"), days=10,
        ages=(12, 120),
    ),
    Drug(
        "amoxicillin_liquid", _rx("308189", "amoxicillin 80 MG/ML Oral Suspension"), "amoxicillin 400 mg/5 mL",
        "antibiotic", 5, "mL", 2, "Give {dose} mL by mouth twice daily for 10 days.", ("amoxicillin", "penicillin"),
        days=10, ages=(0, 11),
    ),
    Drug(
        "cefdinir_liquid", _rx("476576", "cefdinir 50 MG/ML Oral Suspension"), "cefdinir 250 mg/5 mL", "antibiotic", 5,
        "mL", 1, "Give {dose} mL by mouth once daily for 10 days.", ("cefdinir",), days=10, ages=(0, 11),
    ),
    Drug(
        "doxycycline", _rx("1649988", "doxycycline hyclate 100 MG Oral Capsule"), "doxycycline 100 mg", "antibiotic", 1,
        "capsule", 2, "Take 1 capsule by mouth twice daily with food for 7 days.", ("doxycycline",), days=7,
        ages=(18, 120),
    ),
    Drug(
        "azithromycin", _rx("308460", "azithromycin 250 MG Oral Tablet"), "azithromycin 250 mg", "antibiotic", 1,
        "tablet", 1, "Take 2 tablets by mouth on day 1, then 1 tablet daily on days 2 to 5.", ("azithromycin",), days=5,
        ages=(12, 120), avoid=("fibrillation",), first=2,
    ),
    Drug(
        "nitrofurantoin",
        _rx("1648755", "nitrofurantoin, macrocrystals 25 MG / nitrofurantoin, monohydrate 75 MG Oral Capsule"),
        "nitrofurantoin 100 mg", "antibiotic", 1, "capsule", 2, "Take 1 capsule by mouth twice daily for 5 days.",
        ("nitrofurantoin",), days=5, avoid=_KIDNEYS,
    ),
    Drug(
        "cephalexin", _rx("309114", "cephalexin 500 MG Oral Capsule"), "cephalexin 500 mg", "antibiotic", 1, "capsule",
        4, "Take 1 capsule by mouth four times daily for 7 days.", ("cephalexin", "penicillin"), days=7,
    ),
)  # fmt: skip
DRUGS = {drug.key: drug for drug in _ROWS}
BY_WEIGHT = {
    ("amoxicillin_liquid", "otitis"): (0.55, 12.5),
    ("amoxicillin_liquid", "strep"): (0.31, 6.0),
    ("cefdinir_liquid", "otitis"): (0.28, 12.0),
    ("cefdinir_liquid", "strep"): (0.28, 12.0),
}
"""What children get for what: mL for each kilogram and dose, and the most. Amoxicillin is 88 mg/kg a day for an ear and
50 for a throat, cefdinir 14."""


def dose_for(drug: Drug, illness: str, weight: float) -> float:
    """A dose of it: as the row says, or by weight down to half a millilitre."""
    if (drug.key, illness) not in BY_WEIGHT:
        return drug.dose
    each, most = BY_WEIGHT[drug.key, illness]
    return min(most, int(each * weight * 2) / 2)
