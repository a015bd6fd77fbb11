"""Where a report comes from: files, a pasted text, standard input."""
