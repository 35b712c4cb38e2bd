"""Identifiers of many countries, made by Faker with a fixed seed, and the share of them that is masked whole."""

import re
from collections.abc import Callable
from functools import cache

from faker import Faker

from custext_sql import Policy, Sanitizer
from tests.small_mapping import small_mapping

LOCALES = (
    *("en_US", "en_GB", "en_IN", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL", "pt_BR", "ru_RU", "tr_TR"),
    *("sv_SE", "da_DK", "fi_FI", "no_NO", "cs_CZ", "ja_JP", "zh_CN", "ko_KR"),
)
PER_LOCALE = 16
FRAMES = ("zz {} zz", "({})", "zz: {}.", "zz {}, zz")


def _join(faker: Faker) -> str:
    """Return two coordinates."""
    latitude, longitude = faker.latlng()
    separator = faker.random_element((", ", ",", " ", "; "))
    if faker.boolean():
        return f"{latitude}{separator}{longitude}"
    ends = ("N" if latitude > 0 else "S", "E" if longitude > 0 else "W")
    return f"{abs(latitude):.4f}\u00b0 {ends[0]}, {abs(longitude):.4f}\u00b0 {ends[1]}"


def _space(iban: str) -> str:
    return " ".join(re.findall(".{1,4}", iban))


def _zone(faker: Faker) -> str:
    return f"fe80::{faker.hexify('^^^^:^^^^')}%{faker.random_element(('eth0', 'en1', 'wlan0', '12'))}"


KINDS: dict[str, tuple[str, Callable[[Faker], str]]] = {  # the mask, and what makes one
    "e-mail address": ("email", lambda faker: faker.email()),
    "URL": ("url", lambda faker: faker.uri()),
    "URL without a scheme, www.": ("url", lambda faker: f"www.{faker.domain_name()}/{faker.uri_path()}"),
    "URL without a scheme, known suffix": (
        "url",
        lambda faker: (
            faker.domain_word() + faker.random_element((".com", ".org", ".net", ".co.uk", ".de", ".io/a?b=1"))
        ),
    ),
    "IPv4 address": ("ip", lambda faker: faker.ipv4()),
    "IPv6 address": ("ip", lambda faker: faker.ipv6()),
    "IPv6 address with a zone": ("ip", _zone),
    "MAC address": ("mac", lambda faker: faker.mac_address().replace(":", faker.random_element("::-"))),
    "UUID": ("uuid", lambda faker: faker.uuid4()),
    "IBAN": ("iban", lambda faker: faker.iban()),
    "IBAN in groups of four": ("iban", lambda faker: _space(faker.iban())),
    "card number": ("card", lambda faker: faker.credit_card_number()),
    "US social security number": ("ssn", lambda faker: faker.numerify("%##-%#-%###")),
    "phone number": ("phone", lambda faker: faker.phone_number()),
    "date of three numbers": (
        "date",
        lambda faker: faker.date(faker.random_element(("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%d/%m/%Y", "%d. %m. %Y"))),
    ),
    "date and time": ("date", lambda faker: faker.date_time().isoformat()),
    "date YYYYMMDD": ("date", lambda faker: faker.date("%Y%m%d")),
    "time": ("time", lambda faker: faker.time(faker.random_element(("%H:%M", "%H:%M:%S", "%I:%M%p")))),
    "coordinates": ("coordinates", _join),
    "@handle": ("handle", lambda faker: f"@{faker.user_name()}"),
    "hashtag": ("hashtag", lambda faker: f"#{faker.last_name().replace(' ', '')}{faker.random_element(('', '24'))}"),
    "ID of a word and numbers": ("id", lambda faker: faker.bothify("???-20##-######").upper()),
}


@cache
def make_cases(kind: str) -> tuple[str, ...]:
    """Return identifiers of a kind."""
    cases = []
    for place, locale in enumerate(LOCALES):
        faker = Faker(locale)
        faker.seed_instance(f"{kind} {place}")
        cases += [KINDS[kind][1](faker) for _ in range(PER_LOCALE)]
    return tuple(cases)


def find_misses(kind: str) -> list[tuple[str, str]]:
    """Return the texts of identifiers that are not masked whole, each with what became of it."""
    sanitizer = Sanitizer(small_mapping(["one", "two"], k=2))
    frames = [FRAMES[place % len(FRAMES)] for place in range(len(make_cases(kind)))]
    texts = [frame.format(case) for frame, case in zip(frames, make_cases(kind), strict=True)]
    mask = f"<{KINDS[kind][0]}>"
    expected = [_clear(frame.replace("zz", Policy.UNKNOWN_MASK).format(mask)) for frame in frames]
    made = sanitizer.sanitize_batch(texts, 0.0, False)
    return [(text, found) for text, found, hoped in zip(texts, made, expected, strict=True) if _clear(found) != hoped]


def _clear(text: str) -> str:
    """Return a text without parentheses, which a phone number may begin with."""
    return text.replace("(", "").replace(")", "")
