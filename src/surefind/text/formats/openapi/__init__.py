"""OpenAPI documents, versions 3.0 and 3.1: one section per operation and per schema."""
