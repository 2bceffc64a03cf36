"""Commands that search."""
