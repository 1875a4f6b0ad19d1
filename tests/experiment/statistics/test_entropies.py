import numpy as np
import pytest
from experiment.statistics.made_tables import made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.entropies import entropy_column


@pytest.mark.parametrize(
    ("world_name", "published"),
    [
        ("jail", "entropy_knn"),
        ("random-8x8", "entropy_knn"),
        ("random-10x10", "entropy_gaussian"),
        ("bandit", "entropy_knn"),
    ],
)
def test_each_world_has_its_estimate(world_name, published):
    table = made_table(world_name=world_name, num_steps=2)
    assert entropy_column(table) == "entropy_evidence"
    assert entropy_column(table, "paper") == published
    chains = made_table(world_name=world_name, num_steps=2, has_evidence=False)
    assert entropy_column(chains) == published


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
    with pytest.raises(InputError, match='must be "evidence" or "paper", got \'knn\''):
        entropy_column(made_table(num_steps=1), "knn")
