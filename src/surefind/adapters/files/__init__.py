"""Files of our own: the data folder, archives, checksums, keys, runs and golden sets."""
