"""The mechanisms that the paper compares with. Nothing is ever released with them: their draws are not verified."""
