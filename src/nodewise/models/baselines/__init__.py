"""Models that are no stack of layers: DeepWalk and Planetoid."""
