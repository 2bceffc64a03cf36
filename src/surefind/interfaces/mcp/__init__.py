"""The MCP server: the documentation as tools for assistants."""
