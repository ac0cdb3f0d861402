"""Recipes, engines, the training loop, early stopping and metrics."""
