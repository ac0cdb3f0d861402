"""Records turned into tables, plots and pages; nothing here trains or computes a model."""
