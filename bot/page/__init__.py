"""The maintainers' page: routes, views, sign-in, what it reads from the database."""
