"""What lies in a custext database: embeddings, mappings, stopwords, the ledger; and key files."""
