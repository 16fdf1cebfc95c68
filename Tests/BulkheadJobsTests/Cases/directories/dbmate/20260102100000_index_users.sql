-- migrate:up transaction:false
CREATE INDEX CONCURRENTLY users_email ON users (email);

-- migrate:down transaction:false
DROP INDEX CONCURRENTLY users_email;
