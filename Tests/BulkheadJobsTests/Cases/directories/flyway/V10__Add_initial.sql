alter table person add column initial text;
update person p set initial = initial(p);
