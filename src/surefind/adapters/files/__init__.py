"""Local files: the data folder, archives, checksums, keys, runs and golden sets."""
