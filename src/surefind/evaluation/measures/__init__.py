"""Measures of rankings, thresholds, latency and index recall."""
