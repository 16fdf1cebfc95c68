-- +goose Up
-- SQL in this section is executed when the migration is applied.
CREATE TABLE users (
    id int NOT NULL PRIMARY KEY,
    username text,
    name text
);

INSERT INTO users VALUES (0, 'root', ''), (1, 'ann', 'Ann; the first');

-- +goose Down
DROP TABLE users;
