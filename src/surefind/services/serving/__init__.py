"""Limits, API keys and health checks for the server."""
