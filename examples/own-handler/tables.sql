create table public.flights (
    year int, month int, day int,
    dep_time int, sched_dep_time int, dep_delay int,
    arr_time int, sched_arr_time int, arr_delay int,
    carrier text, flight int, tailnum text, origin text, dest text,
    air_time int, distance int, hour int, minute int, time_hour timestamptz
);

create table public.carrier_summary (
    carrier    text primary key,
    flights    bigint not null,
    mean_delay numeric
);
