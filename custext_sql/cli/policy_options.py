"""The options of a policy, which commands receive as one argument."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from custext_sql.replacing.policy import Policy

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PARTS = {
    "unknown": (
        ["keep", "mask", "random"],
        "Words outside the vocabulary: keep them, mask them, or replace them with a random word of the vocabulary.",
    ),
    "numbers": (["shape", "mask", "keep"], "Numbers outside the vocabulary: randomize the digits, mask, or keep."),
    "case": (["lower", "match"], "Replacements in lower case, or in the case of the original, which reveals it."),
    "units": (["mask", "keep"], "E-mail addresses, phone numbers, dates, ...: one mask each, or treat them as words."),
}
_POLICY = (
    "For units, and for words and numbers outside the vocabulary: mask them all (strict{}), or, as in the paper, keep "
    "the words and randomize digits (paper). The next options change parts of it."
)
keep_words_option = click.option(
    "--keep-words", metavar="FILE", help="Public words that stay, one per line, such as the labels of speakers."
)


def policy_options(default: str | None = None) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options of a policy to a command, which receives them as `policy`.

    default: the name of a policy. None: that of the key, if there is one, else strict.
    """
    usual = default or "strict"

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def combine(*arguments: Any, policy: str | None, **given: Any) -> Any:
            parts = {name: given.pop(name) for name in (*_PARTS, "keep_words")}
            return command(*arguments, policy=_combine(policy, parts, usual, given.get("key_file")), **given)

        combined: Any = combine
        combined = keep_words_option(combined)
        for name, (choices, text) in reversed(_PARTS.items()):
            combined = click.option(f"--{name}", type=click.Choice(choices), help=text)(combined)
        named = click.Choice(["strict", "paper"])
        text = _POLICY.format({None: ", the default without a key", "strict": ", the default"}.get(default, ""))
        combined = click.option("--policy", type=named, default=default, show_default=True, help=text)(combined)
        return cast(_Command, combined)

    return decorate


def _combine(
    policy: str | None, parts: dict[str, str | None], usual: str, key_file: str | None
) -> "str | Policy | None":
    """Return the policy that some options ask for: a name, or None, if there are no others.

    Options change parts of the named policy, else of the key's, else of the usual one.
    """
    given: dict[str, Any] = {name: value for name, value in parts.items() if value is not None}
    if not given:
        return policy
    from dataclasses import replace

    from custext_sql.replacing.policy import choose_policy
    from custext_sql.text.word_list import read_word_file

    if "keep_words" in given:
        given["keep_words"] = read_word_file(given["keep_words"])
    if policy is None and key_file is not None:
        from custext_sql.store.key_files import read_key_file

        return replace(read_key_file(key_file).settings.policy, **given)
    return replace(choose_policy(policy or usual), **given)
