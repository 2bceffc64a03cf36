"""Search: find and rank passages for a query."""
