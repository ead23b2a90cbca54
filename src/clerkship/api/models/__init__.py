"""The bodies of requests and answers that are not models of `clerkship.model` or `clerkship.service`."""
