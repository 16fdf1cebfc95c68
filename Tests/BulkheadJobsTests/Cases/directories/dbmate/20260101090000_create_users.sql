-- migrate:up
create table users (
  id integer primary key,
  name varchar(255),
  email varchar(255) not null
);

-- migrate:down
drop table users;
