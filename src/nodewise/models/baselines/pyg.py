"""Two-layer models of PyG's layers, as in PyG's examples.

They take dense features and edges, and drop entries before each layer.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import Module
from torch.nn.functional import dropout, elu, relu
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm


class PygGCN(Module):
    """Two `GCNConv` whose normalized edges are computed once, as with `cached=True`.

    Unlike there, they are computed again for another graph.

    Args:
        in_channels: Size of the input features.
        out_channels: How many classes.
        hidden_channels: Width between the layers.
        dropout: Rate on the input of each layer.
    """

    def __init__(
        self, in_channels: int, out_channels: int, hidden_channels: int = 64, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.conv1 = GCNConv(in_channels, hidden_channels, normalize=False)
        self.conv2 = GCNConv(hidden_channels, out_channels, normalize=False)
        self._seen: tuple[Tensor, int] | None = None
        self._edges: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of all nodes, (N, classes)."""
        edges = self._normalized(edge_index, x.size(0))
        x = relu(self.conv1(dropout(x, self.dropout, self.training), *edges))
        logits: Tensor = self.conv2(dropout(x, self.dropout, self.training), *edges)
        return logits

    def _normalized(self, edge_index: Tensor, count: int) -> tuple[Tensor, Tensor]:
        seen = self._seen
        is_known = seen is not None and seen[0] is edge_index and seen[1] == edge_index._version
        if self._edges is None or not is_known:
            self._seen = (edge_index, edge_index._version)
            self._edges = gcn_norm(edge_index, None, count)
        return self._edges


class PygSAGE(Module):
    """Two `SAGEConv` with the mean; arguments as of `PygGCN`."""

    def __init__(
        self, in_channels: int, out_channels: int, hidden_channels: int = 64, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.conv1 = SAGEConv(in_channels, hidden_channels)
        self.conv2 = SAGEConv(hidden_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of all nodes, (N, classes)."""
        x = relu(self.conv1(dropout(x, self.dropout, self.training), edge_index))
        logits: Tensor = self.conv2(dropout(x, self.dropout, self.training), edge_index)
        return logits


class PygGAT(Module):
    """Two `GATConv`, of several heads and of one; arguments as of `PygGCN`.

    Dropout is also that of attention, as in PyG's example.

    Args:
        heads: Heads of the first layer.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden_channels: int = 8,
        dropout: float = 0.6,
        heads: int = 8,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.conv1 = GATConv(in_channels, hidden_channels, heads, dropout=dropout)
        self.conv2 = GATConv(heads * hidden_channels, out_channels, dropout=dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of all nodes, (N, classes)."""
        x = elu(self.conv1(dropout(x, self.dropout, self.training), edge_index))
        logits: Tensor = self.conv2(dropout(x, self.dropout, self.training), edge_index)
        return logits
