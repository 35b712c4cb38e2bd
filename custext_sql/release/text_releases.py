"""The release of one text: `sanitize_text`."""

from dataclasses import replace
from typing import Any

from custext_sql.release.line_releases import check_lines
from custext_sql.release.release_plan import ReleasePlan
from custext_sql.release.release_report import ReleaseReport
from custext_sql.replacing.tally import Tally
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import ARGUMENT
from custext_sql.text.columns import open_column


def sanitize_text(text: str, *, database: Database = None, **options: Any) -> tuple[str, ReleaseReport]:
    """Sanitize one text, enter the release in the ledger, and return the text and a report with its `receipt`.

    options: those of `sanitize_file` that are not about files. Errors and warnings are those of `sanitize_file`.
    """
    plan = ReleasePlan.make(database, **options)
    plan = replace(plan, dataset=plan.dataset.or_called(ARGUMENT))
    entry = plan.open_entry()
    check_lines([], plan, entry, "the text")
    tally = Tally()
    column, rebuild = open_column([text])
    [result] = rebuild(plan.sanitizer.sanitize_column(column, tally=tally))
    report = ReleaseReport(1, plan.publish(entry, None, tally, "the text"), note=entry.note)
    report.warn()
    return str(result), report
