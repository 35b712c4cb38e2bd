"""Turns scores and eps into integer weights, verifies them, and draws from them."""
