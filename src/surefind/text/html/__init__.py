"""HTML becomes Markdown."""
