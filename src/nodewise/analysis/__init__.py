"""What localization did: to a graph, and to the prediction of a single node."""
