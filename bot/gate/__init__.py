"""The one gate in front of every write: text quoted safely on the way in, checked by a real parser on the way out."""
