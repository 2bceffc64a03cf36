"""Generations: build, verify, publish, read, transfer and roll back."""
