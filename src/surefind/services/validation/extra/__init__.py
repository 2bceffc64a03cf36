"""Measurements beside the tests: the recall of the index, and latency under load."""
