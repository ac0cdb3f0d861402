"""Whole models: stacks of layers that classify nodes."""
