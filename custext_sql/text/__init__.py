"""What a word is, and columns of texts as bytes."""
