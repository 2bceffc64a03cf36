"""Where pages come from: folders and websites."""
