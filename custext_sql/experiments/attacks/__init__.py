"""What attackers learn from sanitized text."""
