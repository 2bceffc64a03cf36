"""Pure: what a retrieval should find, how well it did, and what that proves."""
