"""`--recipe auto`: trains candidates within a budget, stops the weak ones, and chooses one."""
