"""Where spaCy and custext-sql meet: a pipeline component, and the vectors of pipelines."""
