"""Graphs to files: text tables, Parquet, npz, graph.node."""
