BEGIN;
CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE TABLE IF NOT EXISTS users(
   user_id serial PRIMARY KEY,
   email VARCHAR (300) UNIQUE NOT NULL
);
COMMIT;
