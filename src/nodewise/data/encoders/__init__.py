"""A column's way to features: fitted once, kept as JSON, applied to every later table."""
