"""The style sheet of reports: light and dark, for screens and for paper."""

STYLE = """
:root {
  --ink: #1c2430; --soft: #5a6675; --paper: #ffffff; --panel: #f4f6f9; --line: #d9dee6; --accent: #1f5fa8;
  --good: #1c7a45; --good-soft: #e6f4ec; --open: #8a5a00; --open-soft: #fdf3de; --bad: #a8321f; --bad-soft: #fbe9e6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e8ee; --soft: #a2adbb; --paper: #14181e; --panel: #1e242d; --line: #353e4a; --accent: #86b6ee;
    --good: #7fd3a2; --good-soft: #16301f; --open: #f0c674; --open-soft: #332a14; --bad: #f0998a; --bad-soft: #3a1d18;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 0.75rem; padding-bottom: 0.3rem; border-bottom: 2px solid var(--line); }
h2.part { font-size: 1.7rem; margin-top: 3.5rem; border: 0; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
p { margin: 0.6rem 0; max-width: 46rem; }
li { max-width: 46rem; margin: 0.25rem 0; }
a { color: var(--accent); }
.lead { color: var(--soft); font-size: 1.05rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0.4rem 1.2rem; padding: 0; margin: 1rem 0; }
.verdict { border-left: 6px solid var(--soft); background: var(--panel); padding: 0.8rem 1.1rem; border-radius: 6px;
  margin: 1.2rem 0; }
.verdict p:first-child { font-size: 1.15rem; font-weight: 650; margin-top: 0; }
.verdict p:last-child { margin-bottom: 0; }
.verdict.holds { border-color: var(--good); background: var(--good-soft); }
.verdict.undecided { border-color: var(--open); background: var(--open-soft); }
.verdict.fails, .verdict.refused { border-color: var(--bad); background: var(--bad-soft); }
.warning { border-left: 4px solid var(--open); background: var(--open-soft); padding: 0.5rem 0.9rem;
  border-radius: 4px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.8rem; margin: 1rem 0; }
.tile { background: var(--panel); border-radius: 8px; padding: 0.7rem 0.9rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.25; }
.tile span { color: var(--soft); font-size: 0.9rem; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 8px;
  padding: 0.5rem; }
figcaption, caption { color: var(--soft); font-size: 0.92rem; text-align: left; max-width: 46rem; }
caption { padding: 0.3rem 0; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 0.9rem 0.35rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
.number { text-align: right; }
td.number { white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: 0.35rem 1.2rem; }
dt { font-weight: 600; } dd { margin: 0; max-width: 42rem; }
details { margin: 0.8rem 0; } summary { cursor: pointer; color: var(--accent); }
code { background: var(--panel); padding: 0.1rem 0.35rem; border-radius: 4px; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem 1.5rem; }
.sides figure { margin: 0.5rem 0; }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.9rem; border-top: 1px solid var(--line);
  padding-top: 0.8rem; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.5rem; } }
@media print {
  main { max-width: none; padding: 0; } nav { display: none; } body { font-size: 11pt; }
  figure, tr, .tile, .verdict { break-inside: avoid; } h2, h3 { break-after: avoid; }
  details > *:not(summary) { display: block; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
