"""Statistics: intervals and significance."""
