"""Speed and memory, side by side with what others do. Run: python -m tests.benchmarks

The vectors are those of CUSTEXT_DATA if it names a folder, else the ones that ship. Times are the best of several runs.
"""
