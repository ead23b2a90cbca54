"""Templates of faxes that arrive: letters, forms and reports. `registry.TEMPLATES` has all of them by name."""
