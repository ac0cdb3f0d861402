"""Pure functions on tensors: what a localized layer computes, in three implementations."""
