"""The HTML page of Docs before and after."""

from pathlib import Path

import pytest

from custext_sql import CusTextError
from spacy_plugin.rendering import render
from tests.spacy_plugin.test_component import make_pipeline


def test_the_page_shows_both_texts_and_is_self_contained(starter_db: Path) -> None:
    nlp = make_pipeline(starter_db, plus=True, policy="paper")
    page = render(nlp.pipe(["The doctor <b>said</b> & left.", "Zzyzxa"]), title="A & B")
    assert page.count("<article>") == 2 and "<title>A &amp; B</title>" in page
    assert '<mark class="mark-green" title="replaced">doctor</mark>' in page
    assert '<mark class="mark-gray clear"' in page and '<mark class="mark-red clear"' in page
    assert "&lt;" in page and "<b>said" not in page
    assert "http" not in page and "src=" not in page


def test_new_docs_cannot_be_rendered(starter_db: Path) -> None:
    with pytest.raises(CusTextError, match='set "output": "annotate"'):
        render(make_pipeline(starter_db, output="replace")("The doctor left."))
