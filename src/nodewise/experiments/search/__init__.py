"""The search for settings: trials that optuna proposes, in a folder that can be continued."""
