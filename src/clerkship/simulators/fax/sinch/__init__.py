"""Faxes in the shape of Sinch's Fax API (version 3), with its webhooks."""
