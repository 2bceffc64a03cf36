"""Site generators: the addresses they give to pages, and their extensions of Markdown."""
