"""Starlight."""
