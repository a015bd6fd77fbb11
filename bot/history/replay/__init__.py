"""A kept history, replayed forward in time: had distriage been on since then, what would it have said and set?"""
