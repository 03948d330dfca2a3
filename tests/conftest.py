"""What several files of tests share."""

import pytest

from bayesnb.kernels import blocks


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def road(request):
    """The form in which every sum is taken: numpy, as for small tables, or the compiled loops, as for large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(blocks, "COMPILED_FROM", 0)
        yield request.param
