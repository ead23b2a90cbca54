"""`messages`: the text messages, e-mail and portal messages of an organization."""
