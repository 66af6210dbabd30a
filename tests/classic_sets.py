"""Classic sets of bags, which have no licence to be distributed, beside a checkout."""

from pathlib import Path

import pytest

SETS = Path(__file__).resolve().parents[2] / "shared" / "data" / "mil"
needs_sets = pytest.mark.skipif(not SETS.is_dir(), reason="the classic sets are not here")
