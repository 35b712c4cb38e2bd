"""What an attacker learns from one sanitized text: guesses word by word, and a verdict. Nothing is saved."""
