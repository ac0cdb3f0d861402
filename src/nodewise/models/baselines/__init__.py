"""Models that are not stacks of layers: DeepWalk and Planetoid."""
