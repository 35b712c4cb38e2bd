"""The stopwords that every database starts with, read from their file."""

from importlib.resources import files

STOPWORDS = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8").split()
