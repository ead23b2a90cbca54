"""`tables/units.json`: every row has the columns and types that quantities need."""

from decimal import Decimal

from pydantic import TypeAdapter

from clerkship.formats.fhir.evaluation.quantity import UNITS, UnitAtom


def test_every_unit_is_on_a_line_of_its_own_and_is_typed() -> None:
    first, *lines, last = UNITS.read_text().splitlines()
    assert (first, last) == ("[", "]")
    adapter = TypeAdapter(UnitAtom)
    atoms = [adapter.validate_json(line.removesuffix(","), strict=True) for line in lines]
    assert len({atom.unit for atom in atoms}) == len(atoms)
    assert all(Decimal(atom.factor) > 0 for atom in atoms)
    bases = {atom.unit for atom in atoms if atom.base == {atom.unit: 1} and atom.factor == "1"}
    assert {base for atom in atoms for base in atom.base} <= bases
