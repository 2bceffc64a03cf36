"""Commands that validate retrieval."""
