"""The life of a skill: buffer, archive, review, lifecycle, loadout, SKILL.md."""
