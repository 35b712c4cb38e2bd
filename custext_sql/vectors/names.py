"""The name of an embedding after its source."""

import re
from pathlib import PurePath

from custext_sql.errors import SettingError
from custext_sql.vectors.starter import STARTER

_SUFFIXES = {".txt", ".vec", ".bin", ".model", ".npz", ".parquet", ".csv", ".tsv", ".gz", ".gzip", ".zip"}
_FORBIDDEN = re.compile(r"[^\w.+-]+")
_LONGEST = 60  # so that the names of mappings, which begin with that of the embedding, are not too long


def name_source(source: str, member: str | None = None) -> str:
    """Return a name for the embedding of a source: that of the file without its suffixes, or of a spaCy pipeline.

    member: the file in an archive that is read, if it is given. "data/glove.6B.300d.txt.gz" gives "glove.6B.300d".
    SettingError if nothing is left of the name.
    """
    if source == STARTER:
        return STARTER
    file = PurePath((member or source.rpartition(":")[2]).replace("\\", "/"))
    while file.suffix.lower() in _SUFFIXES and file.stem:
        file = file.with_suffix("")
    name = _FORBIDDEN.sub("-", file.name).lstrip(".+-")[:_LONGEST].rstrip(".+-")
    if not name:
        raise SettingError("the file has no name that an embedding could have; use --name NAME (in Python: name=...)")
    return name
