"""What `bot failures new` writes."""

ENTRY = """+++
id = "ID"
title = "What a person calls it"
answer = "Two or three sentences: what is wrong, and the setting, command or release that fixes it."
frameworks = ["pytorch"]
signatures = []
patterns = []
symptom = ["D.1.1"]
cause = ["other"]
fix = ["other"]
confused_with = []
sources = ["https://"]
+++

# What a person calls it

## What happens

How it looks, also without the telltale line.

## Why

1. **The most frequent cause.** The sign that tells it.

## Check

- `one command`: what its output means.

## Fix

- What to change, exactly.

## Not this when

What rules it out.
"""

EXAMPLES = """[[example]]
kind = "telltale"
title = "A report in your own words with the telltale line"
body = '''
'''

[[example]]
kind = "plain"
title = "The same failure without the line"
body = '''
'''

[[example]]
kind = "noisy"
title = "The same failure buried in noise"
body = '''
'''

[[near_miss]]
is = ""
title = "Looks alike and is something else"
body = '''
'''

[[near_miss]]
is = ""
title = "Another one"
body = '''
'''
"""
