"""Docusaurus 3."""
