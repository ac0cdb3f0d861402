"""`Split`: training, validation and test nodes; how splits are drawn and checked."""
