"""Tests on a real Spark cluster, which the tests start themselves."""

import pytest

MARKS = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.xdist_group("spark"),  # so that one worker starts one cluster
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark 4.1 leaves them
]
