"""What sanitized text is still good for."""
