"""How well recall finds the evidence of real questions; run ``python -m benches.quality``."""
