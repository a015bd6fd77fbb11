"""Probes that tell the remaining causes apart: compose a script, read its result back, move the causes."""
