"""The tools that assistants call."""
