"""A run as files: its folder, its record, what is read back from it and exported."""
