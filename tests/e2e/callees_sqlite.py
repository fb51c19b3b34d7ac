# Two levels of calls from the heart of sqlite3, against what the stacks say at the entry of every function. The stacks also have
# calls through pointers, which debug information does not name, and count a tail call as none; so they may see more.
from spiletest import *

SQLITE = debian_source_program("sqlite3")
statements = temporary_directory() / "q.sql"
statements.write_text("""create table t(a, b); create index i on t(a);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 300) insert into t select x, x * 7 % 13 from c;
select count(*), sum(b) from t where a > 50; delete from t where b = 3; update t set b = b + 1 where a % 2;
select group_concat(b) from (select b from t order by b limit 5);
""")


def counts(script):
    result = spile("-e", script + 'probe end { foreach (f+ in c) printf("%s %d\\n", f, c[f]) }', "-c",
                   f"{SQLITE} :memory: '.read {statements}'")
    expect(result.status, 0, f"{result}")
    return {line.split()[0]: int(line.split()[1]) for line in result.out.splitlines() if re.fullmatch(r"\w+ \d+", line)}


called = counts('global c probe process.function("sqlite3VdbeExec").callees(2).call { c[ppfunc()]++ }')
returned = counts('global c probe process.function("sqlite3VdbeExec").callees(2).return { c[ppfunc()]++ }')
on_stack = counts("""global c probe process.function("*").call {
  if (usymname(ustack(1)) == "sqlite3VdbeExec" || usymname(ustack(2)) == "sqlite3VdbeExec") c[ppfunc()]++ }""")
same = [f for f in called if called[f] == on_stack.get(f)]
more = {f: (n, on_stack.get(f, 0)) for f, n in called.items() if n > on_stack.get(f, 0)}
expect(more, {}, "counted more than the stacks have")
expect_true(len(same) > 60 and len(same) >= 0.9 * len(called),
            f"only {len(same)} of {len(called)} functions have the counts of the stacks")
expect({f: (n, called.get(f)) for f, n in returned.items() if n > called.get(f, 0)}, {}, "more returns than calls")
expect_true(sum(called.get(f) == n for f, n in returned.items()) >= 0.9 * len(called), "returns of calls")
