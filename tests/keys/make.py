"""Makes the stored keys of a format with the code of that time: python tests/keys/make.py FORMAT

Tests check that these keys still give the same outputs, byte for byte. Make the keys of a format once, when it is new:
enter the commit in COMMITS, and its new settings in ADDED. Then never change the files or TEXTS: they represent the
keys that users have, and what they have released.

    words.duckdb.xz     a database with two mappings, made by the code of format 1
    FORMAT-NAME.key     a key for the settings of that name
    FORMAT-NAME.json    the outputs for TEXTS on every surface
"""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
COMMITS = {1: "c7a89b8", 2: "7fc8bc9", 3: "b1f1581"}  # the code that makes keys of each format

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"policy": "paper"},
    "paper-plus": {"policy": "paper", "plus": True, "eps": 2.0},
    "strict": {"policy": "strict", "eps": 0.5},
    "strict-plus-tight": {"policy": "strict", "plus": True, "calibration": "tight", "mapping": "apart"},
    "random": {"policy": {"unknown": "random", "numbers": "shape", "case": "match"}, "eps": 3.0},
    "random-plus": {"policy": {"unknown": "random", "numbers": "shape", "case": "match"}, "plus": True},
}
ADDED: dict[int, dict[str, dict[str, Any]]] = {  # settings that a format introduced
    2: {
        "strict-keep": {"policy": {"invisible": "keep"}, "plus": True},
        "paper-drop": {"policy": {"unknown": "keep", "numbers": "shape", "invisible": "drop"}, "plus": True},
    },
    3: {
        "strict-units": {"policy": {"units": "keep"}, "plus": True},
        "paper-units": {"policy": {"unknown": "keep", "numbers": "shape", "invisible": "keep", "units": "mask"}},
        "kept-words": {"policy": {"keep_words": ["Doctor", "nurse", "tea", "speaker"]}, "eps": 2.0},
        "kept-words-plus": {"policy": {"keep_words": ["DOCTOR", "the", "42"]}, "plus": True},
    },
}

WORDS = """
the and my was in a not she it good bad kind late full doctor nurse surgeon lawyer teacher friend son daughter cat dog
boston london paris train bus plane hotel house park letter book coffee tea day week year don't o'clock heart love
caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00fcber stra\u00dfe cafe\u0301 \u043c\u0438\u0440 \u65e5\u672c covid19 1999
co_op i s n
"""
TEXTS = [
    "The doctor was kind, and my surgery went well.",
    "THE FRIEND of My Daughter; a good day, a good park!",
    "good good good good Good GOOD",
    "don't Don\u2019t DON'T can't son's lawyer\u2019s 'tea' rock'n'roll o'clock o''clock dogs'",
    "12 1999 3.50 1,000,000 \u0663\u0664 \uff11\uff12 2\u00b2 covid19 x86 4th 00:00",
    "zyzzyva qwerty Zyzzyva's co_op _under_ __",
    "caf\u00e9 na\u00efve R\u00c9SUM\u00c9 \u00dcBER stra\u00dfe STRASSE",
    "cafe\u0301 nai\u0308ve RE\u0301SUME\u0301 U\u0308BER cafe\u0301\u0301",  # letters with combining marks
    "\uff24\uff4f\uff43\uff54\uff4f\uff52 \uff41\u3000\uff42\uff4f\uff4f\uff4b \uff07 \ufb01ne \ufb03",  # full width
    "love \u2764\ufe0f heart \u2764 dog\ufe0f",
    "\u0301 \u0308\u0301 \ufe0f a \u20e3 1\ufe0f\u20e3 \u0e31",  # combining marks alone
    "doc\u00adtor the\u00adlaw\u00adyer \u00ad",  # soft hyphens
    "doc\u200btor doc\u200ctor doc\u200dtor doc\u2060tor \ufeffdoctor doctor\u200b",
    "\u202edoctor\u202c \u200enurse\u200f \u2066house\u2069",
    "doctor\ue000 \ue001 \U000f0000nurse \U0010fffd",  # private use
    "dog\U000e0064\U000e006f\U000e0067\U000e007f \U000e0001",  # tag characters
    "\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea "
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f good\U0001f600day",
    "\u043c\u0438\u0440 \u041c\u0418\u0420 \u65e5\u672c \u65e5\u672c\u8a9e "
    "\u05e9\u05c1\u05dc\u05d5\u05dd \u0915\u094d\u0937",
    "\u0130stanbul \u0131 \u03a3\u03c3\u03c2 \u1e9e \u01c5 \u212a",  # letters with an unusual lower case
    "doctor\u00a0nurse\u2003book\ttea\nday\r\nweek\u2028year",
    "name@domain.org http://boston.com/a?b=1 #love @friend C++ $5 <unk> <num>",
    "a\u0338 \u00b5 \u2126 \u00aa \u2460 \u216b \u00bd 10\u207b\u00b3",
    "!?... \u2014 \u2026",
    " doctor ",
    "",
    None,
    "the the nurse the",
]
UNIT_TEXTS = [  # for keys of format 3 and later
    "good good a@b.org good http://boston.com/a?b=1. good 1980-01-02 good",
    "doctor 10:30am, +46 (0)8 928 571 38 doctor; 054-28-6917 doctor (555) 123-4567x12",
    "GB29 NWBK 6016 1331 9268 19 tea 4111 1111 1111 1111 tea 10.0.0.1:80 tea 2001:db8::ff00:42:8329",
    "j\u00f6s\u00e9@m\u00fcnchen.de \uff11\uff19\uff18\uff10-\uff10\uff11-\uff10\uff12 555\u2011123\u20114567",
    "o'dog@x.y 1/2/1990-3/4/1991 12/05 1990-91 v1.2.3 3.50 9/10 1,000,000 1 2 3 4 5 6 7 8 1-2-3-4",
    "Speaker: the doctor's tea. 42 NURSE a@b c@d.e's",
]
COLUMNS = ("body", "a:b", "a", "50%")


def find_text(number: int) -> str | None:
    """Return the text for a row number."""
    return TEXTS[number % len(TEXTS)]


def write_rows() -> str:
    """Return a CSV file in which column `a` with id `b:1` and column `a:b` with id `1` hold different texts."""
    lines = [",".join(["id", *COLUMNS])]
    for number in range(len(TEXTS)):
        identifier = f"b:{number - 1}" if number % 2 else str(number)
        lines.append(",".join([identifier, *(_quote(find_text(number + 5 * place)) for place in range(len(COLUMNS)))]))
    return "\n".join(lines) + "\n"


def _quote(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


def cut(text: str | None) -> list[tuple[str, str]]:
    """Split a text into tokens, each with the space after it. Python's \\w excludes marks, so some words are split."""
    return re.findall(r"(n't|'s|\w+?(?=n't)|\w+|[^\w ]| )( ?)", text or "")


def sanitize_everywhere(database: Path, key: Path, folder: Path) -> dict[str, Any]:
    """Return the outputs for TEXTS with a key on every surface."""
    import numpy as np
    import spacy
    from click.testing import CliRunner
    from spacy.tokens import Doc

    from custext_sql import Sanitizer, connect
    from custext_sql.cli import main

    try:
        from custext_sql.replacing.token_batch import TokenBatch
        from custext_sql.text.encoded_text import join_texts
    except ImportError:  # in an earlier commit
        from custext_sql.encoded_text import join_texts  # type: ignore[import-not-found,no-redef]
        from custext_sql.token_batch import TokenBatch  # type: ignore[import-not-found,no-redef]

    records = [f"body:{number}" for number in range(len(TEXTS))]
    sanitizer = Sanitizer.load(database, key_file=key)
    batch = sanitizer.sanitize_batch(TEXTS, records=records)

    with connect(database, key_file=key) as connection:
        connection.execute("CREATE TEMP TABLE given (id BIGINT, body VARCHAR)")
        connection.executemany("INSERT INTO given VALUES (?, ?)", list(enumerate(TEXTS)))
        query = "SELECT custext_sanitize_keyed(body, 'body:' || id) FROM given ORDER BY id"
        queried = [text for (text,) in connection.execute(query).fetchall()]

    source, target = folder / "texts.csv", folder / f"{key.stem}.csv"
    source.write_bytes(write_rows().encode())
    columns = [argument for name in COLUMNS for argument in ("--column", name)]
    arguments = ["--db", database, "sanitize", source, target, *columns, "--key-file", key, "--record-column", "id"]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output

    documents = [cut(text) for text in TEXTS]
    content, offsets = join_texts([word + space for document in documents for word, space in document])
    tokens = sanitizer.sanitize_tokens(
        TokenBatch(content, offsets, np.cumsum([0, *map(len, documents)])), records=records
    )
    drawn = [tokens.text[start:end].tobytes().decode() for start, end in pairwise(tokens.offsets.tolist())]

    nlp = spacy.blank("en")
    component = nlp.add_pipe("custext", config={"database": str(database), "key_file": str(key)})
    docs = []
    for document, record in zip(documents, records, strict=True):
        doc = Doc(nlp.vocab, [word for word, _ in document], [bool(space) for _, space in document])
        doc._.custext_record = record
        docs.append(component(doc)._.custext)

    added = {}
    if getattr(sanitizer.key, "format", 1) >= 3:
        added["units"] = sanitizer.sanitize_batch(UNIT_TEXTS, records=list(map(str, range(len(UNIT_TEXTS)))))
    return added | {
        "batch": batch,
        "sql": queried,
        "file": target.read_bytes().decode().split("\n"),  # so that each row has its own line in the JSON file
        "tokens": "|".join(drawn),
        "spacy": docs,
    }


def make_database(path: Path, folder: Path) -> None:
    """Make a database with two mappings. folder: for the vector file."""
    import numpy as np

    from custext_sql import build_mapping, load_embeddings

    words = WORDS.split()
    vectors = np.random.default_rng(0).normal(size=(len(words), 5)).round(4)
    lines = [" ".join([word, *map(str, vector)]) for word, vector in zip(words, vectors.tolist(), strict=True)]
    (folder / "words.txt").write_text("\n".join(lines) + "\n")
    load_embeddings(path, folder / "words.txt", name="small")
    build_mapping(path, embedding="small", k=4, name="plain")
    build_mapping(path, embedding="small", k=6, measure="cosine", separate_stopwords=True, name="apart")


def dump(value: object) -> str:
    return json.dumps(value, indent=0) + "\n"  # non-ASCII characters are escaped, so that all are visible


def make(number: int, folder: Path) -> None:
    """Make the keys of a format with the code that Python imports."""
    from custext_sql import Policy, make_key

    stored = HERE / "words.duckdb.xz"
    database = folder / "words.duckdb"
    if number == 1:
        make_database(database, folder)
    else:
        database.write_bytes(lzma.decompress(stored.read_bytes()))
        subprocess.run([sys.executable, "-P", "-m", "custext_sql", "--db", database, "upgrade"], check=True)
    packed = lzma.compress(database.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    chosen = SETTINGS | {
        name: settings for at, added in ADDED.items() if at <= number for name, settings in added.items()
    }
    for name, settings in chosen.items():
        key = HERE / f"{number}-{name}.key"
        key.unlink(missing_ok=True)
        policy = settings["policy"]
        policy = policy if isinstance(policy, str) else Policy(**policy)
        own = Path(shutil.copy(database, folder / "own.duckdb"))  # releases are entered in it
        make_key(key, own, **{"mapping": "plain"} | settings | {"policy": policy})
        key.with_suffix(".json").write_text(dump(sanitize_everywhere(own, key, folder)))
    if number == 1:
        stored.write_bytes(packed)


def main() -> None:
    number = int(sys.argv[1])
    with TemporaryDirectory() as name:
        folder = Path(name)
        tree = folder / "tree"
        tree.mkdir()
        archive = ["git", "archive", COMMITS[number]]
        packed = subprocess.run(archive, cwd=HERE.parents[1], check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", tree], input=packed, check=True)
        (tree / "custext_sql" / "migrations").symlink_to(tree / "migrations")  # as pyproject.toml installs it
        environment = os.environ | {"PYTHONPATH": str(tree), "HOME": name, "XDG_DATA_HOME": name}
        environment.pop("CUSTEXT_DB", None)
        subprocess.run([sys.executable, "-P", __file__, str(number), name], env=environment, check=True)


if __name__ == "__main__":
    make(int(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) == 3 else main()
