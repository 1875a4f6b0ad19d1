"""Commands that pages show exist, with their options, and with values that the program takes."""

import pytest
from docs.blocks import pages
from docs.commands import commands_of, complaint, runs_in


@pytest.mark.parametrize("page", [page for page in pages() if any(commands_of(page))])
def test_commands_and_their_options_exist(page):
    found = [(words, complaint(words, is_whole)) for words, is_whole in commands_of(page)]
    assert [(words, fault) for words, fault in found if fault] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("journeyman stduy ask x.study", "journeyman has no command stduy"),
        ("journeyman study ask x.study --jsno", "jsno"),
        ("journeyman study ask", "lacks"),
        ("journeyman study ask x.study y", "does not take"),
        ("journeyman study", "needs a command"),
        ("journeyman worlds show jial", "jial"),
        ("journeyman scores jail --acquisition nope", "nope"),
        ("journeyman infer jail --inference smcc", "smcc"),
        ("journeyman run --world jial --out x", "jial"),
        ("journeyman run --world jail --delta 5 --out x", "delta"),
        ("journeyman run --world jail --delta five --out x", "number"),
        ("journeyman run --world jail --epsilon -1 --out x", "epsilon"),
        ("journeyman run --world jail --kind trajectories --out x", "kind"),
        ("journeyman run --world jail --goal rewards --out x", "rewards"),
        ("journeyman run --world jail --scope everywhere --out x", "everywhere"),
        ("journeyman run --world jail --acquisition-set edgs=0,1 --out x", "edgs"),
        ("journeyman calibrate --world jail --inference-set num_particels=9", "num_particels"),
        ("journeyman worlds show gym:FrozenLake-v1 --world-set map_nam=8x8", "map_nam"),
        ("journeyman scores jail --ask wurst", "wurst"),
        ("journeyman scores jail --candidates occupency:50", "occupency"),
        ("journeyman study export my.study p.csv --what polcy", "polcy"),
        ("journeyman study export my.study p.xyz --what policy", "p.xyz"),
        ("journeyman study plot my.study --what polcy", "polcy"),
        ("journeyman study plot my.study --format gif", "gif"),
        ("journeyman study import my.study x.csv --columns stat=node", "stat"),
        ("journeyman study import my.study x.csv --format cvs", "cvs"),
        ("journeyman study set my.study max_samplez=9", "max_samplez"),
        ("journeyman study set my.study num_draws=9", None),  # of a study with chains
        ("journeyman study clone my.study new.study --set epsilonn=1", "epsilonn"),
        ("journeyman study clone my.study new.study --set inference.num_particels=1", "num_particels"),
        ("journeyman compare p.toml d.csv --vary rewrd=state", "rewrd"),
        ("journeyman compare p.toml d.csv --vary beta=4,unknwn", "unknwn"),
        ("journeyman compare p.toml d.csv --also values=sofd", "sofd"),
        ("journeyman compare p.toml d.csv --test every-fith", "every-fith"),
        ("journeyman study merge my.study x.csv --prefer their", "their"),
        ("journeyman reproduce all --scale papr", "papr"),
        ("journeyman sweep run s.toml --executor dusk", "dusk"),
        ("journeyman schema study statos", "statos"),
        ("journeyman studio x.study --port 99999", "99999"),
        ("journeyman --log-level infos study ask my.study", "infos"),
        ("journeyman study clone my.study NEW --set epsilon=VALUE", None),
        ("$ journeyman study ask x.study --jsno", "jsno"),
        ("cd here && .venv/bin/journeyman study ask x.study --jsno", "jsno"),
        ("JOURNEYMAN_PLUGINS=mine .venv/bin/journeyman worlds --json | head", None),
    ],
)
def test_wrong_commands_are_found(line, fault):
    found = complaint(next(runs_in(line)), is_whole=True)
    assert found is None if fault is None else fault in found
