# variants: debian source
# sqlite3, started by spile: its result is right, and the function that runs statements was entered and left.
from spiletest import *

binary = debian_source_program("sqlite3") if VARIANT == "source" else installed("sqlite3")
function = ('process.library("libsqlite3*").function("sqlite3_step")' if VARIANT == "debian" else
            'process.function("sqlite3VdbeExec")')
queries = temporary_directory() / "queries.sql"
queries.write_text("create table t(a); insert into t values (1),(2),(3); select sum(a) from t;\n" +
                   "select count(*) from t;\n" * 100)
result = spile("-e", f"""global c, t probe {function} {{ c++ }}
probe {function}.return {{ t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }}
probe end {{ printf("entered %d left %d\\n", c, @count(t)) }}""", "-c", f"{binary} :memory: '.read {queries}'")
entered, left = [int(n) for n in re.search(r"entered (\d+) left (\d+)", result.expect(status=0).out).groups()]
expect(result.out, "6\n" + "3\n" * 100 + f"entered {entered} left {left}\n")
expect_true(entered == left and entered >= 102, f"entered {entered} left {left}")
