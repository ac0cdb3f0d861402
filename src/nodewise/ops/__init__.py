"""Pure functions on tensors: the operations of a localized layer, in three implementations."""
