"""Authentication schemes: which credentials a simulator accepts, and how they are checked, in every protocol."""
