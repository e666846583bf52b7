"""``adhere serve``: repeated scans, and their results over HTTP."""
