"""Texts made to slow down the search for units: long runs of what patterns begin or continue with."""

PIECES = {
    "digits": "1",
    "digits and spaces": "1 ",
    "digits in threes": "123-",
    "digits in fours": "1234 ",
    "digits with periods": "1.",
    "digits with slashes": "1/2",
    "digits with colons": "1:",
    "dates that go on": "1-2-3-",
    "times that go on": "12:30:",
    "parentheses": "(1",
    "closed parentheses": "(1)",
    "many parentheses": "1((",
    "plus signs": "+1",
    "only plus signs": "+(",
    "seven digits short by one": "1 2 3 4 5 6 a ",
    "letters": "a",
    "letters and periods": "a.",
    "signs": "@",
    "letters and signs": "a@",
    "domains that end in periods": "a@b....",
    "apostrophes": "'",
    "letters and apostrophes": "a'",
    "schemes": "a://",
    "schemes without a rest": "a://,",
    "schemes that do not begin": "a+b.",
    "colons": ":",
    "double colons": "::",
    "hexadecimal groups": "ab:",
    "hexadecimal groups and double colons": "a1::",
    "starts of bank numbers": "gb12",
    "groups of bank numbers": "GB12 ABCD ",
    "bank numbers that go on": "GB12 1234 ",
    "letters of another alphabet": "\u00fc",
    "signs of another width": "\uff20",
    "digits of another script": "\u0663",
    "dashes": "1\u2013",
}


def make_hostile(piece: str, size: int) -> str:
    """Return a text of that many characters."""
    return (piece * (size // len(piece) + 1))[:size]
