"""Converts HTML to Markdown."""
