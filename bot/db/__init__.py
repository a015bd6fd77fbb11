"""State in PostgreSQL: the embedded server, the pools, the migrations, the stores."""
