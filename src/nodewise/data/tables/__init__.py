"""From somebody's own tables to a graph: files, frames, NetworkX; features that can be made again.

Reading goes one way: a source (a table not yet read) -> a table (a frame that knows where its rows
stand) -> ids, edges, labels, features -> a `GraphTable`.
"""
