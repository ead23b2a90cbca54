"""What is shown of a run to somebody who was not there."""
