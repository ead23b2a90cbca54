"""E-mail over the state of an organization's messages: MIME, and the SMTP listener."""
