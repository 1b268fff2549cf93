"""The tiers' verbs, one module each; a lower tier is never written by an upper one."""
