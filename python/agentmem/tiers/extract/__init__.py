"""Read messages into facts: the deterministic extractors."""

from agentmem.tiers.extract.extractor import LearntExtractor, RuleExtractor

__all__ = ["LearntExtractor", "RuleExtractor"]
