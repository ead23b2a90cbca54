"""SMS in the shape of Twilio's REST API (version 2010-04-01), its webhooks and its status callbacks."""
