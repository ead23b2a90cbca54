"""The REST interface of the server: it parses requests, calls `clerkship.service.serving`, and renders answers."""
