"""Read messages into facts: the deterministic extractor."""

from agentmem.tiers.extract.extractor import RuleExtractor

__all__ = ["RuleExtractor"]
