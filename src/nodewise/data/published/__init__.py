"""The published data sets: where their files are, how they are checked, read and cached."""
