# All two thousand functions of sqlite3, static ones too, by its debug information.
from spiletest import *

binary = debian_source_program("sqlite3")
queries = temporary_directory() / "queries.sql"
queries.write_text("create table t(a); insert into t values (1),(2),(3);\n" + "select sum(a) from t;\n" * 10)
result = spile("-e", """global n probe process.function("*").call { n[ppfunc()]++ }
probe end { foreach (f in n) { functions++ } printf("functions %d %d\\n", functions, n["sqlite3VdbeExec"]) }""",
               "-c", f"{binary} :memory: '.read {queries}'").expect(status=0)
functions, executed = [int(n) for n in re.search(r"functions (\d+) (\d+)", result.out).groups()]
expect(result.out.replace(f"functions {functions} {executed}\n", ""), "6\n" * 10)
expect_true(functions > 300 and executed >= 12, f"{functions} functions hit, {executed} executions")
