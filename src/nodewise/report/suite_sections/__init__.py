"""The sections of suites, from their records."""
