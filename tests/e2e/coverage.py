# Of the functions with symbols of large programs and libraries at least 99.5 % can be probed, and at most 0.1 % by breakpoints;
# of their returns too.
from spiletest import *

files = [BUILD.parent / "programs/redis-server", BUILD.parent / "programs/sqlite3", "/usr/bin/redis-server",
         "/usr/lib/postgresql/15/bin/postgres", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/python3.11",
         "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
         "/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1"]
present = [str(file) for file in files if os.path.exists(file)]
expect_true(len(present) >= 3, f"only {present} are installed")
for mode in [], ["--returns"]:
    result = subprocess.run([BUILD / "tools/coverage/coverage", *mode, "--refused", "--limits", "99.5", "0.1", *present],
                            capture_output=True, text=True)
    print(result.stdout)
    expect((result.returncode, result.stderr), (0, ""), " ".join(["coverage", *mode]))
