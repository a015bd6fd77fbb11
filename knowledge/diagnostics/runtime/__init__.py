"""Source of the diagnostics script: stdlib Python 3.8+, cut and joined into one file by compose.py.

Every probe is a function `probe_<id>(job) -> (outcome, facts)`; it may raise NotApplicable. Top-level names
are unique over the
modules of this package because they end up in one file.
"""
