"""Search: a question becomes ranked passages."""
