"""One file per vendor. Adapters take plain arguments and translate vendor errors."""
