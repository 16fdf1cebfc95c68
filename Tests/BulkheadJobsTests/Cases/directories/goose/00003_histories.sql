-- +goose Up
CREATE TABLE histories (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION remember() RETURNS integer AS $$
DECLARE
  made integer := 0;
BEGIN
  FOR made IN 1..3 LOOP
    INSERT INTO histories DEFAULT VALUES;
  END LOOP;
  RETURN made;
END;
$$
LANGUAGE plpgsql;
-- +goose StatementEnd
SELECT remember();

-- +goose Down
DROP FUNCTION remember();
DROP TABLE histories;
