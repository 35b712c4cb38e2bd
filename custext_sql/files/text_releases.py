"""The release of one text: `sanitize_text`."""

from typing import Unpack

from custext_sql.files.line_releases import check_lines
from custext_sql.files.opening import ReleaseOptions, open_release
from custext_sql.files.release_report import ReleaseReport
from custext_sql.ledger.dataset import ARGUMENT
from custext_sql.text.columns import open_column


def sanitize_text(text: str, **options: Unpack[ReleaseOptions]) -> tuple[str, ReleaseReport]:
    """Sanitize one text, enter the release in the ledger, and return the text and a report with its `receipt`.

    options: those of `sanitize_file`; so are errors and warnings.
    """
    release = open_release("the text", **options)
    release.dataset = release.dataset.or_called(ARGUMENT)
    check_lines(release)
    release.check()
    column, rebuild = open_column([text])
    [result] = rebuild(release.sanitizer.sanitize_column(column, tally=release.tally))
    report = ReleaseReport(1, release.publish())
    report.warn()
    return str(result), report
