"""Prior authorization over FHIR, in the shape of the Da Vinci PAS guide (2.2.1): the same payer as the 278.

See docs/reference/x12.md, and docs/decisions/0020-x12-clearinghouse.md for why the clearinghouse answers it.
"""
