"""Text to vectors, vectors to neighbours."""
