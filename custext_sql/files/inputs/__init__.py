"""Inputs of releases: finds, checks and opens files, folders, patterns and tables."""
