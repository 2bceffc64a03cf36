"""Embedders: the local model, Cohere, and any OpenAI-compatible service."""
