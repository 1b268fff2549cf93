"""Read messages into facts: the deterministic extractors."""

from agentmem.tiers.extract.extractor import LinearExtractor, RuleExtractor

__all__ = ["LinearExtractor", "RuleExtractor"]
