"""PostgreSQL: the catalog, and the `documents` table of the retrieval API."""
