"""Maintenance: doctor and audit find damage; doctor repairs it."""
