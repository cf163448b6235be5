-- SPDX-License-Identifier: GPL-2.0
-- What postgres.sh has psql do; :rows and :dir are set by it
set client_min_messages = warning;
drop table if exists things, others;
create table things (id int primary key, what text, amount numeric(12,2));
insert into things select i, repeat(md5(i::text), 1 + i % 5), i * 1.25
	from generate_series(1, :rows) i;
select count(*), sum(amount), md5(string_agg(what, ',' order by id)) from things;
-- to a file of the client, and what the client sends
\o :dir/out.csv
copy (select * from things order by id) to stdout with csv;
\o
create table others (like things);
copy others from stdin with csv;
1,"one",1.25
2,"two, with a comma",2.50
\.
select * from others order by id;
-- a long row, and a long result
select length(repeat('x', 3000000)), md5(repeat('x', 3000000));
\o /dev/null
select repeat(md5(i::text), 30) from generate_series(1, :rows) i;
\o
-- errors leave the connection in order
select 1 / 0;
select * from nothing;
begin;
insert into things values (1, 'twice', 0);
select 'not run in a failed transaction';
rollback;
prepare sum(int) as select sum(amount) from things where id <= $1;
execute sum(10);
execute sum(1000);
