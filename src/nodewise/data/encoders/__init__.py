"""Encoders make features of a column: fitted once, saved as JSON, applied to later tables."""
