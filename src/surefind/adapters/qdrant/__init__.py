"""Qdrant: the embedded engine, a server, and collections that something else filled."""
