"""Embedders: the default model, and services; and rerankers of services, which are called alike."""
