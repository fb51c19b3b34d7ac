# variants: calls values values_O0 throws sqlite3 gcc clang rust_values_O0 rust_values_O2
# At statements all over a program, every variable in scope has the value that gdb sees there.
# long
from spiletest import *

installed("gdb")
installed("readelf")
installed("setarch")
TOOL = ROOT / "tools/torture/values_like_gdb.py"
if VARIANT in ("gcc", "clang"):
    # Everything that can be declared, from what compilers make of it at each level, in both versions of DWARF.
    compilers = {".c": {"gcc": "gcc", "clang": "clang-19"}[VARIANT], ".cpp": {"gcc": "g++", "clang": "clang++-19"}[VARIANT]}
    for name, *options in ("value_kinds.c", "-O2", "-gdwarf-5"), ("value_kinds.c", "-O3",
                                                                  "-gdwarf-4"), ("value_kinds_cpp.cpp", "-O2", "-gdwarf-5"):
        source = ROOT / "tests/programs" / name
        built = temporary_directory() / "kinds"
        subprocess.run([installed(compilers[source.suffix]), "-g", "-w", *options, "-o", built, source], check=True)
        done = subprocess.run([sys.executable, TOOL, "--spile", SPILE, "--places", "250", built], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)
        expect(done.returncode, 0, f"{source} {options}: {done.stdout}{done.stderr}")
        expect_true(int(re.search(r"(\d+)  same", done.stdout)[1]) >= 100, f"too little was compared: {done.stdout}")
    sys.exit()
if VARIANT == "sqlite3":
    script = temporary_directory() / "script.sql"
    script.write_text("""create table t(a integer primary key, b text, c real);
with recursive n(v) as (select 1 union all select v+1 from n where v<500) insert into t select v, 'x'||v, v*1.5 from n;
create index i on t(b);
select count(*), sum(c) from t where b like 'x1%'; select a, b from t order by c desc limit 5;
update t set c=c+1 where a<100; delete from t where a>400; select json_extract('{"a":[1,2,{"b":3}]}','$.a[2].b');
select t1.a from t t1 join t t2 on t1.a=t2.a+1 where t1.b>'x15' group by t1.a having count(*)>0 limit 3;
""")
    command = ["--places", "200", debian_source_program("sqlite3"), ":memory:", "-init", script]
else:
    of_file = ["--source", "rust_values.rs"] if VARIANT.startswith("rust") else []  # most of the rest is Rust's own library
    command = (["--unoptimized"] if VARIANT.endswith("O0") else []) + of_file + [program(VARIANT), "10"]
done = subprocess.run([sys.executable, TOOL, "--spile", SPILE, *command],
                      capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
print(done.stdout)
expect(done.returncode, 0, done.stderr)
same = int(re.search(r"(\d+)  same", done.stdout)[1])
expect_true(same >= {"sqlite3": 200}.get(VARIANT, 30), "too little was compared")
if VARIANT == "sqlite3":
    kept = re.search(r"(\d+)  of the function's entry: same", done.stdout)
    expect_true(kept and int(kept[1]) >= 5, "too few of the values were those of a function's entry")
