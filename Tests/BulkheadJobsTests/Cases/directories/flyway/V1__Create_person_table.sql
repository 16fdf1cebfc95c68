create table PERSON (
    ID int not null primary key,
    NAME varchar(100) not null
);
