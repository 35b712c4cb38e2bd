"""The vectors and stopwords that ship with the package, and the script that made the vectors."""
