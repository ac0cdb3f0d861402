"""Layers: contexts, modulators, aggregators, and the localized convolution they make up."""
