"""A live documentation site as a source."""
