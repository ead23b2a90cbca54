"""Letters as PDF files with text that programs can read: Helvetica, which every reader has, and no dependency."""
