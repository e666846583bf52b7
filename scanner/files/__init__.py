"""Files that other people wrote: YAML and JSON with the place of every value, read within limits."""
