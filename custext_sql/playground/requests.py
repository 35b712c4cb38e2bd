"""What the page asks for. Values of other types are refused, and messages about them do not repeat them."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from custext_sql import Policy
from custext_sql.sanitizer.settings import Settings

MOST_CHARACTERS = 200_000  # of a text
_MOST_NAMES = 100  # columns of a release

Eps = Annotated[float, Field(ge=0.0, le=100.0, allow_inf_nan=False, description="0, or 0.001 to 100")]
Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PolicyChoice(_Request):
    """A policy by its name, and the parts that differ from it."""

    name: Literal["strict", "paper"] = "strict"
    unknown: Literal["mask", "keep", "random"] | None = None
    numbers: Literal["mask", "shape", "keep"] | None = None
    units: Literal["mask", "keep"] | None = None
    case: Literal["lower", "match"] | None = None

    @property
    def changes(self) -> dict[str, str]:
        """The parts that differ, by name."""
        return {name: value for name, value in self if name != "name" and value is not None}

    def settle(self) -> Policy:
        """Return the policy."""
        return replace(Settings.settle(policy=self.name).policy, **self.changes)


class Choice(_Request):
    """The settings on the page. mapping: None for the default one."""

    mapping: Name | None = None
    eps: Eps = 1.0
    plus: bool = False
    calibration: Literal["paper", "tight"] = "paper"
    policy: PolicyChoice = PolicyChoice()


class TextRequest(_Request):
    """A text, and settings."""

    text: Text
    settings: Choice = Choice()


class DrawnRequest(TextRequest):
    """A text that was sanitized at these settings.

    unchanged: how many of its words were replaced by themselves. is_unchanged: whether the text came out unchanged.
    """

    unchanged: Annotated[int, Field(ge=0, le=MOST_CHARACTERS)]
    is_unchanged: bool = False


class AttackRequest(TextRequest):
    """A text, and what became of each of its words at these settings."""

    outputs: Annotated[list[Text], Field(max_length=MOST_CHARACTERS)]


class WordRequest(_Request):
    """A word, what became of it, and settings."""

    word: Annotated[str, Field(min_length=1, max_length=1_000)]
    output: Annotated[str, Field(min_length=1, max_length=1_000)]
    settings: Choice = Choice()


class SettingsRequest(_Request):
    """Settings. file, column: what a release of a file would name."""

    settings: Choice = Choice()
    file: Name | None = None
    column: Name | None = None


class PreviewRequest(_Request):
    """A column of a file that was uploaded, and settings. column: None for lines of text."""

    column: Name | None = None
    settings: Choice = Choice()


class ReleaseRequest(_Request):
    """The columns to sanitize; none for lines of text. dataset: the name of the data in the ledger."""

    columns: Annotated[list[Name], Field(max_length=_MOST_NAMES)] = []
    dataset: Name
    settings: Choice = Choice()
    second_mapping: bool = False
