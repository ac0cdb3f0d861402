"""Where a graph may come from: text tables, Parquet, npz, graph.node, NetworkX, PyG."""
