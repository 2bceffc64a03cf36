"""Targets: their files, and what their results mean to golden tests."""
