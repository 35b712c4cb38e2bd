"""The mechanisms that the paper compares CusText with, never used for releases: their draws are not verified."""
