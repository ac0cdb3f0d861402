"""The local web page of `nodewise explore`: what localization did, over `nodewise.analysis`."""
