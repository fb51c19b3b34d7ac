"""SQL that uses much of sqlite3: `queries(rows)` is a script whose work grows with the number of rows, and whose output
depends on the numbers alone."""


def queries(rows):
    return f"""
create table t(a integer primary key, b text, c real);
create index i on t(b);
create table log(kind text, a integer);
create trigger gone after delete on t begin insert into log values ('gone', old.a); end;
create view big as select a, b from t where c > {rows} / 6.0;
with recursive n(x) as (select 1 union all select x + 1 from n where x < {rows})
  insert into t select x, 'v' || (x * 7919 % 1000), x / 3.0 from n;
select count(*), sum(a), max(b), round(avg(c), 3) from t where b > 'v3';
select substr(b, 1, 2), count(*) from t group by substr(b, 1, 2) order by 2 desc, 1;
update t set c = c * 2 where a % 7 = 0;
delete from t where a % 11 = 0;
select kind, count(*), sum(a) from log group by kind;
select count(*) from big;
select t1.a, t2.b from t t1 join t t2 on t1.a = t2.a + 1 where t2.b like '%9%' order by t2.b desc, t1.a limit 5;
begin; update t set b = upper(b); rollback;
begin; update t set b = printf('%08.3f', c) where a < 50; commit;
select json_group_array(a) from (select a from t where a < 20);
select group_concat(b, '|') from (select distinct b from t order by c limit 10);
select a, row_number() over (partition by a % 5 order by c desc) from t where a < 30 order by a;
select strftime('%Y-%m-%d', 1700000000 + a, 'unixepoch') from t where a < 5;
select no_such_function(1);
insert into t values (1, 'twice', 0);
explain query plan select * from t where b = 'v1';
analyze; reindex; vacuum;
pragma integrity_check;
"""
