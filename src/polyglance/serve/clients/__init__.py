"""Clients over HTTP, and for assistants over MCP."""
