"""`python -m nodewise`, so that launchers such as torchrun can start the command line."""

from nodewise.cli import main

main()
