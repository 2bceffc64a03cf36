"""Encoding of texts and queries as vectors and terms, with caches."""
