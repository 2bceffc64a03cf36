"""Sphinx."""
