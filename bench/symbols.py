#!/usr/bin/env python3
"""What resolving costs: functions with their variables, when nothing is known and from the cache.

    symbols.py [--programs DIR] [--large DIR] [--repeat N]

DIR of --programs has sqlite3 as tests/programs/from_debian_sources builds it (default: build/programs), and postgres, if somebody
has built one with -g. --large also measures one function of a program with 600 MB of debug information: Debian's ceph-osd with
ceph-osd-dbg (230 MB), downloaded to DIR by apt-get, unpacked, never installed; as Debian compresses it, and uncompressed. Times
are those of the whole spile process; the least of N runs (default 3), memory the greatest.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPILE = str(pathlib.Path(os.environ.get("SPILE_BUILD", ROOT / "build/release")) / "bin/spile")
CACHE = tempfile.mkdtemp(prefix="spile-symbols-")
TYPED = 'probe process("%s").function("*").call { printf("%%s(%%s)\\n", probefunc(), $$parms) }'


def measure(arguments):
    """Returns (seconds, processor seconds, peak memory in MB, standard output)."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([SPILE, *arguments], stdout=out, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "XDG_CACHE_HOME": CACHE})
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        out.seek(0)
        text = out.read()
    if status != 0:
        sys.exit(f"symbols: spile {' '.join(arguments)} ended with status {status}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def row(what, arguments, repeat, known):
    runs = []
    for _ in range(repeat):
        if not known:
            shutil.rmtree(pathlib.Path(CACHE) / "spile", ignore_errors=True)
        runs.append(measure(arguments))
    lines = runs[0][3].count(b"\n")
    print(f"| {what} | {min(r[0] for r in runs):.3f} | {min(r[1] for r in runs):.3f} | {max(r[2] for r in runs):.0f} "
          f"| {lines if lines else ''} |", flush=True)


def fetch_large(folder):
    """Returns the paths of ceph-osd with compressed and uncompressed debug information beside it."""
    folder = pathlib.Path(folder).resolve()
    places = [folder / kind / "ceph-osd" for kind in ("compressed", "plain")]
    if not all(p.exists() for p in places):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=", "download", "ceph-osd", "ceph-osd-dbg"],
                       cwd=folder, check=True)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
            package.unlink()
        program = folder / "root/usr/bin/ceph-osd"
        build_id = subprocess.run(["readelf", "-n", program], capture_output=True, text=True,
                                  check=True).stdout.split("Build ID: ")[1].split()[0]
        debug = folder / f"root/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        for place, command in zip(places, (["cp"], ["objcopy", "--decompress-debug-sections"])):
            place.parent.mkdir(exist_ok=True)
            subprocess.run([*command, debug, place.parent / debug.name], check=True)
            shutil.copy(program, place)
        shutil.rmtree(folder / "root")
    return places


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=ROOT / "build/programs", type=pathlib.Path)
    parser.add_argument("--large", metavar="DIR")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| what | s | processor, s | peak, MB | lines |\n|---|---:|---:|---:|---:|")
    programs = [("sqlite3 -g", options.programs / "sqlite3"),
                ("glibc, libc6-dbg", pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")),
                ("postgres -g", options.programs / "postgres")]
    for name, path in programs:
        if not path.exists():
            print(f"symbols: {path} is absent: left out", file=sys.stderr)
            continue
        for known in (False, True):
            row(f"`-p4`, `$$parms` of all functions of {name}{', known' if known else ''}",
                ["-p4", "-e", TYPED % path, "-c", str(path)], options.repeat, known)
        row(f"`-l`, all functions of {name}", ["-l", f'process("{path}").function("*").call'], 1, True)
    llvm = pathlib.Path("/usr/lib/llvm-19/lib/libLLVM.so.1")
    if llvm.exists():
        row("`-l`, all functions of libLLVM-19", ["-l", f'process("{llvm}").function("*")'], options.repeat, True)
    if options.large:
        for kind, path in zip(("compressed", "uncompressed"), fetch_large(options.large)):
            point = f'process("{path}").function("PrimaryLogPG::do_op")'
            for known in (False, True):
                row(f"`-p2`, `$$parms`, `$$locals` of one function of ceph-osd, 600 MB of debug information, "
                    f"{kind}{', known' if known else ''}",
                    ["-p2", "-e", f"probe {point} {{ println($$parms, $$locals) }}"], options.repeat, known)
    shutil.rmtree(CACHE)


main()
