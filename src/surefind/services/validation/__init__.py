"""Validation: golden tests, the gate, additional measurements, and help with writing tests."""
