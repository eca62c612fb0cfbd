"""The parts of scripts/report: running programs, flattening what they write, plots, the page."""
