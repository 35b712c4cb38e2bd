"""How the data that ships with the package was made. Not part of the package."""
