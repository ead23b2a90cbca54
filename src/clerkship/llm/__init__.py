"""Models: one seam to ask them through, and who stands behind it."""
