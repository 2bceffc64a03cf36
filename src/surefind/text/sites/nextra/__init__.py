"""Nextra."""
