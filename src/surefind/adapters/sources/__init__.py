"""Sources of pages: folders and websites."""
