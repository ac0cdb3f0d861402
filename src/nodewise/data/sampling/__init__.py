"""Edges sorted by target, and batches of sampled neighbors from them."""
