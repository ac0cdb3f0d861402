"""Recipes, the one loop, runs that survive, saved models."""
