"""Ingest: sources become the next generation."""
