"""Validation: golden tests and the gate, measures beyond them, and help with writing them."""
