"""VitePress."""
