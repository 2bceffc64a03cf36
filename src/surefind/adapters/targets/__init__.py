"""Other retrievers to validate: MCP servers, JSON endpoints, functions and files of results."""
