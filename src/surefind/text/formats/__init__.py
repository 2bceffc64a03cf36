"""Source formats: which one a page has, and its text with structure."""
