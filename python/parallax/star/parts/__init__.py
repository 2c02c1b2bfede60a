"""The parts of a report's page, each made from the facts of a run."""

from .about import About
from .cost import MeshAndCost
from .performance import Performance
from .physics import Physics

__all__ = ["About", "MeshAndCost", "Performance", "Physics"]
