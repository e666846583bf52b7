"""What a scan costs, measured side by side with other scanners. ``python -m benchmarks``; see docs/benchmarks.md."""
