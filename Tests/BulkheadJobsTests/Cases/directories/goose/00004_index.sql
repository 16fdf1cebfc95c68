-- +goose NO TRANSACTION

-- +goose Up
CREATE INDEX CONCURRENTLY ON users (username);

-- +goose Down
DROP INDEX CONCURRENTLY users_username_idx;
