"""The HTTP API and the search page."""
