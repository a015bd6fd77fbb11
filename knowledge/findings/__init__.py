"""Which known failures a report shows: the catalogue (knowledge/failures/) matched against a reading."""
