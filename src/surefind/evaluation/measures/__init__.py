"""Measures: of rankings, thresholds, latency and the index."""
