"""Ingest: build the next generation from the sources."""
