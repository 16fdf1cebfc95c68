CREATE INDEX CONCURRENTLY person_name ON person (name);
