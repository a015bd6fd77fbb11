"""Benchmarks, metrics, baselines and the report."""
