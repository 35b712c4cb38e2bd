"""Prints the share of identifiers of many countries that is masked whole, as in docs/privacy.md."""

from tests.text.identifiers import KINDS, LOCALES, find_misses, make_cases


def main() -> None:
    print(f"\nidentifiers of {len(LOCALES)} countries, by Faker: the share that becomes one mask")
    for kind, (mask, _) in KINDS.items():
        made, missed = len(make_cases(kind)), len(find_misses(kind))
        print(f"  {kind:<36} {f'<{mask}>':<15} {(made - missed) / made:7.1%} of {made}", flush=True)
