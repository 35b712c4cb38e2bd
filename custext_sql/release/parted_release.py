"""Releases that several processes make in parts, such as tasks on a cluster."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from custext_sql.errors import OutputError, SettingError
from custext_sql.parameters import count_of
from custext_sql.release.release_plan import ReleasePlan, check_chosen, check_ids
from custext_sql.release.row_sanitizer import RowSanitizer
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.text.columns import TextColumn


def sanitize_part(
    sanitizer: Sanitizer, columns: Mapping[str, pa.Array], ids: pa.Array | None = None
) -> tuple[dict[str, pa.Array], bytes]:
    """Return the sanitized columns of some rows of a release, and their counts, for `PartedRelease.add`.

    eps and plus are those of the sanitizer. ids: with a key, one per row; the record of a text is COLUMN:ID.
    """
    _check_part(sanitizer, columns, ids)
    tally = Tally()
    done = RowSanitizer(sanitizer, list(columns)).sanitize(list(columns.values()), ids, tally)
    rows = len(next(iter(columns.values())))
    part = {"made_with": _describe(sanitizer), "counts": tally.pack().decode(), "rows": rows}
    return dict(zip(columns, done, strict=True)), json.dumps(part).encode()


def _check_part(sanitizer: Sanitizer, columns: Mapping[str, pa.Array], ids: pa.Array | None) -> None:
    if not columns:
        raise SettingError("a part must have at least one column")
    if ids is None and sanitizer.key is not None:
        raise SettingError("draws from a key need the ID of each row: sanitize_part(sanitizer, columns, ids)")
    if ids is not None and sanitizer.key is None:
        raise SettingError("IDs are only for draws from a key; use sanitizer.with_key(read_key_file(PATH))")
    if len({*map(len, columns.values()), *([] if ids is None else [len(ids)])}) > 1:
        raise SettingError("all columns of a part, and its IDs, must have the same number of rows")
    if ids is None or (pa.types.is_integer(ids.type) and not ids.null_count):
        return
    if ids.null_count:
        raise SettingError("record must not be NULL: it identifies the text")
    try:
        TextColumn.from_arrow(ids)
    except SettingError as error:
        raise SettingError(f"IDs{str(error).removeprefix('texts')}") from None


def _describe(sanitizer: Sanitizer) -> dict[str, Any]:
    """Return the settings that all parts of a release must share."""
    return asdict(sanitizer.terms) | {"eps": sanitizer.settings.eps, "plus": sanitizer.settings.plus}


class PartedRelease:
    """A release whose rows are sanitized in parts, by `sanitize_part` in any process, and published as a whole.

    Add the counts of each part of the output exactly once, then publish. The settings are those of `sanitize_file`.
    name: what messages call the data. dataset: the name of the data in the ledger. Raise a CusTextError if a setting is
    wrong, or the ledger does not allow the release.
    """

    def __init__(
        self,
        name: str,
        columns: str | Sequence[str],
        *,
        dataset: str | Dataset,
        eps: float | None = None,
        plus: bool | None = None,
        policy: str | Policy | None = None,
        calibration: str | None = None,
        mapping: str | None = None,
        language: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        record_column: str | None = None,
        max_row_eps: float | None = None,
        budget_total: float | None = None,
        second_mapping: bool = False,
        reuse_key: bool = False,
        database: Database = None,
    ) -> None:
        plan = ReleasePlan.make(
            database,
            mapping=mapping,
            eps=eps,
            plus=plus,
            policy=policy,
            calibration=calibration,
            language=language,
            key_file=key_file,
            columns=columns,
            record_column=record_column,
            max_row_eps=max_row_eps,
            budget_total=budget_total,
            dataset=dataset,
            second_mapping=second_mapping,
            reuse_key=reuse_key,
        )
        if plan.dataset.name is None:
            raise SettingError('name the data: dataset="reviews"; releases of data with the same name add up')
        check_chosen(plan.columns, name, "none was named")
        plan.check_record_column()
        self._name = name
        self._plan = replace(plan, dataset=plan.dataset.or_called(""))
        self._entry = self._plan.open_entry(must_be_made=True)
        self._tally, self._rows = Tally(), 0

    @property
    def sanitizer(self) -> Sanitizer:
        """The sanitizer for all parts."""
        return self._plan.sanitizer

    def add(self, counts: bytes) -> None:
        """Add what `sanitize_part` returned for a part; SettingError if the part was made with other settings."""
        try:
            part = json.loads(counts)
            made_with, packed, rows = part["made_with"], part["counts"].encode(), int(part["rows"])
        except (AttributeError, LookupError, TypeError, ValueError):
            raise SettingError("counts must be what sanitize_part returned") from None
        if made_with != _describe(self.sanitizer):
            raise SettingError(
                "a part was made with other settings than the release: mapping, eps, plus, policy or key"
            )
        self._tally.add_packed(packed)
        self._rows += rows

    def check_ids(self, missing: int, repeated: int) -> None:
        """Raise SourceError unless both are 0. missing: rows without an ID; repeated: IDs that occur more than once."""
        check_ids(self._name, str(self._plan.record_column), missing, repeated)

    def publish(self, publish: Callable[[], object], rows: int) -> Receipt:
        """Call `publish`, which makes the output appear, and return the receipt. rows: how many were written.

        The release is pending in the ledger before the call and complete after it. Before anything is published,
        OutputError if the number of rows counted differs from the number written, BudgetError if a row spent too much,
        and DatabaseError if the ledger cannot be written.
        """
        if rows != self._rows:
            raise OutputError(
                f"{self._name}: {count_of(rows, 'row')} would be published, but {self._rows:,} were counted; add the "
                "counts of each part of the output exactly once; nothing was published"
            )
        return self._plan.publish(self._entry, publish, self._tally, self._name)
