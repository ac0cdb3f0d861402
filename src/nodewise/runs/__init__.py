"""A run as files: its folder and record, what is read back from them, and exports."""
