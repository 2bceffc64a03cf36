"""Connected collections, filled by other programs: mapped and read, never written."""
