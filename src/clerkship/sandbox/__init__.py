"""What one running simulator is: its state, the requests it answers, and the handle an agent holds."""
