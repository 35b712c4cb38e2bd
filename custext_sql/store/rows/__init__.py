"""Rows of embeddings, mappings and stopwords, read and written on an open connection."""
