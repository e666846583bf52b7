"""Cost of a scan, measured side by side with other scanners. ``python -m benchmarks``; see docs/benchmarks.md."""
