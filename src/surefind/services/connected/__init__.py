"""Collections that something else filled: recognised, mapped and read, never written to."""
