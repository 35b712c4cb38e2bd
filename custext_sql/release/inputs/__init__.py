"""What is released: files, folders, patterns, tables and streams; found, checked and opened."""
