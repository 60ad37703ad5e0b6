"""Those who ask: programs over HTTP, and assistants over MCP."""
