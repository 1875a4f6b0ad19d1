import numpy as np
import pytest
from experiment.statistics.made_tables import made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import entropy_column


def test_the_least_biased_estimate_comes_first_unless_the_caller_has_others():
    table = made_table(num_steps=2)
    assert entropy_column(table) == "entropy_evidence"
    assert entropy_column(table, ("entropy_gaussian", "entropy_evidence")) == "entropy_gaussian"
    chains = made_table(num_steps=2, has_evidence=False)
    assert entropy_column(chains) == "entropy_knn"
    assert entropy_column(chains, ("entropy_evidence", "entropy_gaussian")) == "entropy_gaussian"
    assert entropy_column(chains, ("entropy_evidence",)) is None


def test_every_cell_must_have_it():
    table = made_table(num_steps=2)
    one = (table["method"] == "random") & (table["seed"] == 1)
    assert entropy_column(table.assign(entropy_evidence=table["entropy_evidence"].mask(one))) == "entropy_knn"
    # Some steps may lack it: nearest neighbours need distinct draws, for instance.
    some = table["step"] == 2
    assert entropy_column(table.assign(entropy_evidence=table["entropy_evidence"].mask(some))) == "entropy_evidence"


def test_none_at_all():
    none = made_table(num_steps=2).assign(entropy_evidence=np.nan, entropy_knn=-np.inf, entropy_gaussian=np.nan)
    assert entropy_column(none) is None


def test_a_wrong_choice_is_said():
    with pytest.raises(InputError, match="must be one of entropy_evidence, entropy_knn, entropy_gaussian, got 'knn'"):
        entropy_column(made_table(num_steps=1), ("knn",))
