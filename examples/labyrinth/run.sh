#!/bin/sh
# From the table of recorded steps to the report: the commands of README.md, in its order. Takes a minute or two.
set -e
cd "$(dirname "$0")"
rm -rf mice.study mice.html mice-*
journeyman check problem.toml
journeyman study new mice.study --problem problem.toml --goal reward
journeyman study import mice.study labyrinth.csv.gz --columns state=node,action=move,demonstration=bout --dry-run
journeyman study import mice.study labyrinth.csv.gz --columns state=node,action=move,demonstration=bout
journeyman study ask mice.study
journeyman study scores mice.study --top 5
journeyman study plot mice.study --what reward --what uncertainty --what policy --format png
journeyman study export mice.study mice-reward.csv --what reward
journeyman study export mice.study mice-policy.csv --what policy
journeyman study report mice.study --title "Mice in a labyrinth"
journeyman compare problem.toml labyrinth.csv.gz --columns state=node,action=move,demonstration=bout --vary beta=unknown --vary memory=none,visited:116:0 --test every-fifth --out mice-models
