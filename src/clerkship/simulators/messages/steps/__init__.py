"""Steps of messages."""
