"""Many runs: what to train, on how many cores, and where the records go."""
