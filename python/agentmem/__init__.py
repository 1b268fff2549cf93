"""Local, layered memory for AI agents."""
