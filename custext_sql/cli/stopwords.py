"""The command `custext stopwords`."""

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import print_json, print_table


@click.command("stopwords", short_help="Show the stopword lists, or add one.")
@click.option("--language", help="Add the list of this language from NLTK's stopwords corpus.")
@click.option("--file", metavar="FILE", help="Add a list of your own: UTF-8, one word per line. Needs --name.")
@click.option("--name", help="Name of the list in --file; other commands take it as --language.")
@json_option
@click.pass_obj
def stopwords_command(db: str | None, language: str | None, file: str | None, name: str | None, as_json: bool) -> None:
    """Show the stored stopword lists, or add one.

    English ships with custext (NLTK's list of 179 words). Other languages need NLTK's corpus to be installed. A list of
    your own must not depend on private texts, because its words stay in the clear.

    \b
    Examples:
      custext stopwords
      custext stopwords --language german
      custext stopwords --file legal.txt --name legal
      custext sanitize notes.csv public.csv --column body --plus --language legal
    """
    from custext_sql.store.stopwords import add_stopwords, list_stopwords

    if (file is None) != (name is None):
        raise click.UsageError("--file and --name go together: custext stopwords --file legal.txt --name legal")
    if language is not None and name is not None:
        raise click.UsageError("Give either --language, for a list from NLTK's corpus, or --file and --name.")
    if language is not None or name is not None:
        add_stopwords(db, language=language or name or "", file=file)
    stored = list_stopwords(db)
    if as_json:
        print_json([dict(zip(("language", "words", "source"), row, strict=True)) for row in stored])
        return
    print_table(("language", "words", "source"), [(name, str(n), source) for name, n, source in stored], right=(1,))
