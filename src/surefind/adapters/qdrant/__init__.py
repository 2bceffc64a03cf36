"""Qdrant: the embedded engine, a server, and connected collections."""
