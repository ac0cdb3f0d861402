"""From files to `torch_geometric.data.Data` with a split. Knows no model."""
