"""From tables to a graph: which columns are what, the names, edges and labels in them, features."""
