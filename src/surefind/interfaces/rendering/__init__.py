"""Renders Markdown as a tree of elements that is safe to show: no scripts, no remote content."""
