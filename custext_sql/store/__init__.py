"""What a custext database holds (embeddings, mappings, stopwords, the ledger), and key files."""
