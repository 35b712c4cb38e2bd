"""ChaCha20 gives the bytes of RFC 8439, whichever way its blocks are computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.arrays import Bytes
from custext_sql.mechanism import randomness
from custext_sql.mechanism.randomness import Nonce, draw_streams, run_blocks, stream_each

ZEROS, NONE = "00" * 32, "00" * 12
_STANDARD = """
    000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 1 000000090000004a00000000
    10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
    d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e
    0000000000000000000000000000000000000000000000000000000000000000 0 000000000000000000000000
    76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
    da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586
    0000000000000000000000000000000000000000000000000000000000000000 1 000000000000000000000000
    9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
    29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f
    0000000000000000000000000000000000000000000000000000000000000001 1 000000000000000000000000
    3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a
    8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0
    00ff000000000000000000000000000000000000000000000000000000000000 2 000000000000000000000000
    72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca
    13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096
    0000000000000000000000000000000000000000000000000000000000000000 0 000000000000000000000002
    c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7
    8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d
"""  # RFC 8439, 2.3.2 and A.1: key, counter, nonce, and the block in two halves
VECTORS = [
    (key, int(counter), nonce, first + second)
    for key, counter, nonce, first, second in zip(*[iter(_STANDARD.split())] * 5, strict=True)
]


def as_key(text: str) -> Bytes:
    return np.frombuffer(bytes.fromhex(text), dtype=np.uint8)


def as_nonce(text: str) -> Nonce:
    first, second, third = np.frombuffer(bytes.fromhex(text), dtype="<u4").tolist()
    return first, second, third


@pytest.mark.parametrize(("key", "counter", "nonce", "block"), VECTORS)
def test_blocks_are_those_of_the_standard(key: str, counter: int, nonce: str, block: str) -> None:
    alone = run_blocks(as_key(key)[None], np.array([counter]), as_nonce(nonce))
    assert alone.tobytes().hex() == block
    stream = stream_each(as_key(key)[None], np.array([counter + 1]), as_nonce(nonce))
    assert stream.astype("<u8").tobytes()[-64:].hex() == block


@given(st.lists(st.integers(0, 5), max_size=12), st.sampled_from([0, 1, 2**32 - 1]), st.integers(0, 3))
def test_both_ways_to_compute_streams_give_the_same_bytes(blocks: list[int], stream: int, seed: int) -> None:
    """Repeated 40 times, there are enough keys for NumPy; alone, there are few enough for OpenSSL."""
    keys = np.random.default_rng(seed).integers(0, 256, size=(len(blocks), 32), dtype=np.uint8)
    counts = np.array(blocks, dtype=np.int64)
    few, many = (draw_streams(np.tile(keys, (times, 1)), np.tile(counts, times), stream) for times in (1, 40))
    assert few.dtype == many.dtype == np.uint64
    assert few.tolist() == stream_each(keys, counts, (0, stream, 0)).tolist()
    assert many.tolist() == few.tolist() * 40


@pytest.mark.parametrize(("rows", "blocks", "way"), [(480, 3, "run_blocks"), (39, 3, "each"), (480, 60, "each")])
def test_many_short_streams_take_numpy_and_few_or_long_ones_openssl(
    rows: int, blocks: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, the test above would compare one way with itself."""
    monkeypatch.delattr(randomness, "stream_each" if way == "run_blocks" else "run_blocks")
    draw_streams(np.zeros((rows, 32), dtype=np.uint8), np.full(rows, blocks), 0)
