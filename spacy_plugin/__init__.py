"""The spaCy side of custext-sql: a pipeline component, and a source for the word vectors of pipelines."""
