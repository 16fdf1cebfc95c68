-- migrate:up
CREATE FUNCTION touch() RETURNS trigger AS $$
BEGIN
  NEW.name := coalesce(NEW.name, 'nobody; really');
  RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER touch BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION touch();
INSERT INTO users (id, email) VALUES (1, 'ann@example.test');

-- migrate:down
DROP TRIGGER touch ON users;
DROP FUNCTION touch();
DELETE FROM users
