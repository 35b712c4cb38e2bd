"""Files on disk: database files, outputs that appear whole, folders that nobody else can read."""
