"""One module for each format of ``--format``, and the parts of the larger ones (``scanner.report`` lists them)."""
