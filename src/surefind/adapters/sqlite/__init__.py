"""SQLite: the catalog and the embedding cache."""
