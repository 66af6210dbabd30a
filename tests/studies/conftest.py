"""What the tests of reports share."""

import pytest

from studies.made_up import First, MadeUp


@pytest.fixture(scope="module")
def made_up_studies():
    """Let the studies of the package be two made-up ones."""
    with pytest.MonkeyPatch.context() as patch:
        studies = {study.name: study for study in (First(), MadeUp())}
        patch.setattr("sparsetoken.studies.reproduction.STUDIES", studies)
        yield studies
