"""Claude Code: its sessions taken in, and its hook events answered.

Nothing is imported here: the hook starts with as little as it needs.
"""
