"""Self-contained HTML pages: no network, no scripts, light and dark, printable."""
