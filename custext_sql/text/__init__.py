"""Finds words in texts, and converts columns of texts to bytes and back."""
