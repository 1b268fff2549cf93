"""Cluster facts and turns into scenes (L2).

``cluster_scope`` is the step of the pipeline; ``Clusterer`` is its pure core, which reads rows one
after the other; ``scene_page`` shows a scene as Markdown.
"""

from __future__ import annotations

from agentmem.tiers.cluster.assign import Clusterer, Row, Settings
from agentmem.tiers.cluster.pages import scene_page
from agentmem.tiers.cluster.profile import Profile
from agentmem.tiers.cluster.rederive import rederive_scenes
from agentmem.tiers.cluster.step import cluster_scope

__all__ = [
    "Clusterer",
    "Profile",
    "Row",
    "Settings",
    "cluster_scope",
    "rederive_scenes",
    "scene_page",
]
