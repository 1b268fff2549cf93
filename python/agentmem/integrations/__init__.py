"""Agentmem behind other frameworks' interfaces; each module imports its host when it is imported."""
