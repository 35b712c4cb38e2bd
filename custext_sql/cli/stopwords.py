"""The command `custext stopwords`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json, print_table


@click.command("stopwords", short_help="Show the stopword lists, or add one.")
@click.option("--language", help="Add the list of this language from NLTK's stopwords corpus.")
@json_option
@click.pass_obj
def stopwords_command(db: str | None, language: str | None, as_json: bool) -> None:
    """Show the stored stopword lists, or add one from NLTK's corpus.

    English ships with custext (NLTK's list of 179 words). Other languages need the corpus to be installed.

    \b
    Examples:
      custext stopwords
      custext stopwords --language german
    """
    from custext_sql.store.stopwords import add_stopwords, list_stopwords

    if language is not None:
        add_stopwords(db, language=language)
    stored = list_stopwords(db)
    if as_json:
        print_json([dict(zip(("language", "words", "source"), row, strict=True)) for row in stored])
        return
    print_table(("language", "words", "source"), [(name, str(n), source) for name, n, source in stored], right=(1,))
