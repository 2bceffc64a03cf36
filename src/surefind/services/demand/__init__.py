"""What users ask: gaps and drift, from the query log."""
