"""Models: the seam, and who stands behind it."""
