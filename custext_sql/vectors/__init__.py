"""Vector files of every known format, read in batches of words and float32 rows."""

from custext_sql.vectors.opening import VECTOR_FORMATS, open_vectors
from custext_sql.vectors.source import Batch, VectorSource, one_line
from custext_sql.vectors.streams import Stream, open_stream
from custext_sql.vectors.text_files import find_header

__all__ = ["VECTOR_FORMATS", "Batch", "Stream", "VectorSource", "find_header", "one_line", "open_stream", "open_vectors"]
