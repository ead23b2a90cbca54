"""The code lists of the payer portal, and the choices of its forms."""
