"""Commands that measure retrieval."""
