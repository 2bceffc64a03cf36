"""What users ask: the gaps that the query log shows."""
