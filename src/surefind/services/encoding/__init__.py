"""Encoding: texts and questions become vectors and terms, from memory where possible."""
