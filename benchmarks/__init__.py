"""Measures speed and memory, and compares them with other implementations. Run: python -m benchmarks

The vectors are the GloVe vectors in the folder that CUSTEXT_DATA names, else the shipped ones. Times are the best of
several runs.
"""
