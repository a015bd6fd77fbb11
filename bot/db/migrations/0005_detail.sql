-- Which rules of the gate a refused write broke.
ALTER TABLE deliveries ADD COLUMN detail text[] NOT NULL DEFAULT '{}';
ALTER TABLE triages ADD COLUMN detail text[] NOT NULL DEFAULT '{}';
