"""A graph as a folder of memory-mapped files, which may be larger than memory."""
