"""Golden sets: read, written, checked and resolved to chunks."""
