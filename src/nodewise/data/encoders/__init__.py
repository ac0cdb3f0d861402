"""Encoders compute features from a column: fitted once, saved as JSON, applied to later tables."""
