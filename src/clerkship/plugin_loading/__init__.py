"""Installed plug-ins: what one may contain, and how it is found and imported. Authors import `clerkship.plugin`."""
