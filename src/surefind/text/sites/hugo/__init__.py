"""Hugo."""
