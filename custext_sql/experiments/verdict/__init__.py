"""What to tell the person who must sign: what an attacker can do at these settings, and what would help."""
