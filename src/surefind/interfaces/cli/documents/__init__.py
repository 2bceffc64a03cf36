"""Commands that ingest documents and manage their chunks and generations."""
