"""The one gate in front of every write: safe quoting on the way in, a real parser on the way out."""
