"""The APIs of the providers of models, and connections to them."""
