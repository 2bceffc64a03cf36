"""A Qdrant server or cluster as the index."""
