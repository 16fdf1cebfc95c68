create function initial(p person) returns text language sql begin atomic
    select case when p.name like '%.%' then split_part(p.name, ' ', 2) else p.name end;
end;
