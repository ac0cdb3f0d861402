"""The sections of a run's page, from its records."""
