"""Engines: how a model is trained for an epoch and validated; the loop counts the epochs.

An engine computes on the full graph or on the receptive fields of its nodes.
"""
