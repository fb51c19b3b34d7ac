# variants: mismatch split package types alternate kept mini unwind server limits ask
# Where debug information is found, and what is said of files that are missing, of another build, or on a server that does not
# answer.
# long
import threading
import urllib.request

from spiletest import *

directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
os.environ.pop("DEBUGINFOD_URLS", None)
os.environ["DEBUGINFOD_CACHE_PATH"] = str(directory / "debuginfod_client")
SOURCE = """struct pair { long a, b; };
__attribute__((noinline)) long work(struct pair* p, int number) { __asm__ volatile("" : : "r"(p), "r"(number) : "memory"); return p->a + number; }
int main(void) { struct pair p = { 7, 2 }; return work(&p, 5) != 12; }
"""
(directory / "work.c").write_text(SOURCE)
READS = 'probe process.function("work") { println($p->a, " ", $number) }'


def run(*command):
    subprocess.run([str(word) for word in command], check=True, cwd=directory, stdout=subprocess.PIPE)


def reads(path, *options):
    return spile(*options, "-e", READS, "-c", path, cwd=directory)


def build_id(path):
    return re.search("Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]


def split_off(path, debug):
    """Moves the debug information of a program into another file."""
    run("objcopy", "--only-keep-debug", path, debug)
    run("objcopy", "--strip-debug", "--remove-section=.gnu_debuglink", f"--add-gnu-debuglink={debug}", path)


program_file = directory / "work"
if VARIANT == "mismatch":
    run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", "work", "work.c")
    run("gcc", "-g", "-O2", "-Wl,--build-id", "-o", "other", "work.c")
    split_off("work", "work.debug")
    reads(program_file).expect(out="7 5\n")
    run("objcopy", "--only-keep-debug", "other", "work.debug")
    reads(program_file).expect(status=1, err_match=rf"has no debug information \({directory}/work.debug is of another build: its build-id is {build_id(directory / 'other')} "
                               f"instead of {build_id(program_file)}\\)")
    # What needs no debug information runs, and says the same of what it has not.
    spile("-e", 'probe process.function("work") { println("<", $$parms, ">") }', "-c", program_file).expect(
        status=0, out="<>\n", err_match=rf"warning: '\$\$parms' is empty in functions of .*has no debug information \({directory}/work.debug is of another build: its build-id")
    (directory / "work.debug").unlink()
    reads(program_file).expect(status=1, err_match=rf"its .gnu_debuglink names work.debug, and there is no {directory}/work.debug, {directory}/.debug/work.debug or /usr/lib/debug")
    # Without a build-id the checksum decides.
    run("gcc", "-g", "-O1", "-Wl,--build-id=none", "-o", "work", "work.c")
    split_off("work", "work.debug")
    reads(program_file).expect(out="7 5\n")
    with open(directory / "work.debug", "ab") as file:
        file.write(b"x")
    reads(program_file).expect(status=1, err_match=r"work.debug is of another build: its checksum is [0-9a-f]{8} instead of [0-9a-f]{8}\)")
    # A program that a package has installed: which package has its debug information.
    spile("-e", 'probe process("/bin/true").function("main") { println($argc) }', "-c", "/bin/true").expect(status=1, err_match="install coreutils-dbgsym")
elif VARIANT == "ask":
    import pty
    import socket
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    listener.close()  # nobody answers there
    run("gcc", "-O1", "-Wl,--build-id", "-o", "work", "work.c")

    def asked(answer):
        """What a user at a terminal sees who answers so."""
        child, terminal = pty.fork()
        if child == 0:
            os.environ["DEBUGINFOD_URLS"] = address
            os.execv(SPILE, [str(SPILE), "--color=never", "--download-debuginfo=ask", "-e", READS, "-c", str(program_file)])
        seen = b""
        while True:
            try:
                seen += os.read(terminal, 4096)
            except OSError:  # the terminal's other end is closed
                break
            if seen.endswith(b"[y/N] "):
                os.write(terminal, answer)
        os.waitpid(child, 0)
        return seen.decode()

    for answer, reason in ((b"y\n", f"({address} can't be reached: Connection refused)"), (b"n\n", ""), (b"\n", ""), (b"\x04", "")):
        seen = asked(answer)
        expect(seen.count("[y/N]"), 1, f"questions in {seen}")
        expect_true(f"Ask {address} for the debug information of {program_file}" in seen, seen)
        expect(f"can't be reached" in seen, reason != "", f"whether {address} was asked after {answer}: {seen}")
        expect_true("has no debug information" in seen, seen)
    # Without a terminal nobody is asked.
    os.environ["DEBUGINFOD_URLS"] = address
    expect_true("reached" not in reads(program_file, "--download-debuginfo=ask").expect(status=1, err_match="has no debug information").err, "asked without a terminal")
elif VARIANT == "split":
    for version in 4, 5:
        run("gcc", "-g", f"-gdwarf-{version}", "-O1", "-gsplit-dwarf", "-o", "work", "work.c")
        dwo = next(directory.glob("*.dwo"))
        reads(program_file).expect(out="7 5\n")
        shutil.rmtree(directory / "cache", ignore_errors=True)
        kept = dwo.rename(directory / "kept")
        reads(program_file).expect(status=1, err_match=rf"is in a \.dwo file that can't be found: there is no {dwo}")
        spile("-l", f'process("{program_file}").statement("work@work.c:2")').expect(status=1, err_match=rf"'work.c' are described in a \.dwo file that can't be found: there is no {dwo}")
        run("gcc", "-g", f"-gdwarf-{version}", "-O2", "-gsplit-dwarf", "-o", "other", "work.c", "-DOTHER=1")
        other = next(directory.glob("*.dwo"))
        if other != dwo:
            other.rename(dwo)
        reads(program_file).expect(status=1, err_match=rf"{dwo}, which is of another build: its id is [0-9a-f]{{16}} instead of [0-9a-f]{{16}}")
        # What could not be seen is not remembered.
        kept.rename(dwo)
        reads(program_file).expect(out="7 5\n")
        dwo.unlink()
    # In the object file itself; and of a build that says of its folder only ".", from where it ran.
    for version in (4, 5) if shutil.which("clang-19") else ():
        run("clang-19", "-g", f"-gdwarf-{version}", "-O1", "-gsplit-dwarf=single", "-c", "work.c")
        run("clang-19", "-o", "work", "work.o")
        reads(program_file).expect(out="7 5\n")
        (directory / "sub").mkdir(exist_ok=True)
        run("clang-19", "-g", f"-gdwarf-{version}", "-O1", "-gsplit-dwarf", "-fdebug-compilation-dir=.", "-c", "work.c", "-o", "sub/built.o")
        run("clang-19", "-o", "sub/work", "sub/built.o")
        spile("-e", READS, "-c", directory / "sub/work", cwd="/").expect(status=1, err_match=rf"there is no {directory}/sub/sub/built.dwo or /sub/built.dwo")
        reads(directory / "sub/work").expect(out="7 5\n")
        shutil.rmtree(directory / "sub")
elif VARIANT == "package":
    (directory / "second.c").write_text("struct thing { int x; char name[8]; };\n"
                                        "__attribute__((noinline)) int second(struct thing* t) { __asm__ volatile(\"\" : : \"r\"(t) : \"memory\"); return t->x; }\n")
    (directory / "work.c").write_text(SOURCE.replace("int main(void) {", "struct thing { int x; char name[8]; }; int second(struct thing*);\nint main(void) { struct thing t = { 3, \"three\" }; second(&t);"))
    both = 'probe process.function("work") { println($p->a, " ", $number) } probe process.function("second") { println($t->x, " ", user_string($t->name)) }'
    for compiler, version, packer in ("gcc", 4, "dwp"), ("gcc", 5, "llvm-dwp-19"), ("clang-19", 4, "llvm-dwp-19"), ("clang-19", 5, "llvm-dwp-19"):
        what = f"{compiler} DWARF {version} {packer}"
        if not shutil.which(packer):
            continue
        run(compiler, "-g", f"-gdwarf-{version}", "-O1", "-gsplit-dwarf", "-c", "work.c")
        run(compiler, "-g", f"-gdwarf-{version}", "-O1", "-gsplit-dwarf", "-c", "second.c")
        run(compiler, "-o", "work", "work.o", "second.o")
        run(packer, "-e", "work", "-o", "work.dwp")
        for dwo in directory.glob("*.dwo"):
            dwo.unlink()
        result = spile("-e", both, "-c", program_file)
        expect(result.out, "3 three\n7 5\n", what + result.err)
        expect(spile("-l", f'process("{program_file}").statement("second@second.c:2")').status, 0, what)
        # A package of another program.
        (directory / "work.dwp").write_bytes((directory / "work.dwp").read_bytes()[:200])
        shutil.rmtree(directory / "cache", ignore_errors=True)
        reads(program_file).expect(status=1, err_match=r"is in a \.dwo file that can't be found: .*work.dwp")
        (directory / "work.dwp").unlink()
elif VARIANT == "types":
    # Types in units of their own, in one of the two files that use them, once the package has been made.
    (directory / "shop.h").write_text("""namespace shop { enum class Kind { kBig = 3, kSmall }; struct Item { int id; Kind kind; struct Inner { short s; } inner; }; }
int use(const shop::Item &item, void *raw);
""")
    (directory / "use.cpp").write_text("""#include "shop.h"
int use(const shop::Item &item, void *raw) { asm volatile("" : : "r"(raw) : "memory"); return item.id; }
""")
    (directory / "main.cpp").write_text("""#include "shop.h"
int main() { shop::Item item{7, shop::Kind::kSmall, {9}}; return use(item, &item) - 7; }
""")
    makers = [(f"-gdwarf-{version}", compiler, packer)
              for version in (4, 5) for compiler, packer in (("g++", "dwp" if version == 4 else "llvm-dwp-19"), ("clang++-19", "llvm-dwp-19"))]
    asks = ("-e", 'probe process.function("use") { println($$parms$$); println(@cast($raw, "shop::Item", @1)->inner->s, " ", @enum("shop::Kind::kSmall", @1), " ", @enum_name($item->kind), " ", @sizeof("shop::Item::Inner", @1)) }')
    tried = 0
    for version, compiler, packer in makers:
        if not shutil.which(compiler):
            continue

        def compile_all(*options):
            shutil.rmtree(directory / "cache", ignore_errors=True)
            for name in "use", "main":
                run(compiler, "-O1", "-g", version, "-fdebug-types-section", *options, "-c", f"{name}.cpp")
            run(compiler, "-o", "shop", "use.o", "main.o")

        def shows():
            for _ in range(2):  # the second time from the cache
                spile(*asks, "-c", directory / "shop", directory / "shop", cwd=directory).expect(
                    out_match=r"^item=\{.id=7, .kind=kSmall, .inner=\{.s=9\}\} raw=0x[0-9a-f]+\n9 4 kSmall 2\n$")
        compile_all()
        shows()
        compile_all("-gsplit-dwarf")
        shows()
        if shutil.which(packer):
            shutil.rmtree(directory / "cache", ignore_errors=True)
            run(packer, "-e", "shop", "-o", "shop.dwp")
            for file in directory.glob("*.dwo"):
                file.unlink()
            shows()
            (directory / "shop.dwp").unlink()
        tried += 1
    expect_true(tried > 0, "a compiler was tried")
elif VARIANT == "alternate":
    for name in "one", "two":
        run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", name, "work.c", f"-DNAME={name}")
    run("dwz", "-m", "common", "one", "two")
    reads(directory / "one").expect(out="7 5\n")
    (directory / "common").rename(directory / "elsewhere")
    shutil.rmtree(directory / "cache")
    reads(directory / "one").expect(status=1, err_match=rf"needs common, which can't be found: there is no {directory}/common or /usr/lib/debug/.build-id/")
    for name in "three", "four":
        run("gcc", "-g", "-O2", "-Wl,--build-id", "-o", name, "work.c", f"-DNAME={name}")
    run("dwz", "-m", "common", "three", "four")
    reads(directory / "one").expect(status=1, err_match=r"needs common, which is of another build: its build-id is [0-9a-f]{40} instead of [0-9a-f]{40}")
elif VARIANT == "kept":
    # Large compressed files beside a program's own, those of dwz and .dwp files, are uncompressed once: the second run finds them
    # in the cache.
    if subprocess.run(["df", "--output=fstype", directory], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1] in ("tmpfs", "ramfs"):
        skip("the test's folder is not on a disk, where nothing is kept")
    (directory / "digits").write_text(os.urandom(18 << 20).hex())
    for name in "one", "two":
        run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", name, "work.c", f"-DNAME={name}")
    run("dwz", "-m", "common", "one", "two")
    run("clang-19", "-g", "-gdwarf-5", "-O1", "-Wl,--build-id", "-gsplit-dwarf", "-o", "three", "work.c")
    run("llvm-dwp-19", "-e", "three", "-o", "three.dwp")
    for file in directory.glob("*.dwo"):
        file.unlink()
    for name in "common", "three.dwp":
        run("objcopy", "--add-section", ".debug_more=digits", name)
        run("objcopy", "--compress-debug-sections=zlib", name)
    cache = directory / "cache" / "spile"
    for name in "one", "three":
        shutil.rmtree(cache, ignore_errors=True)
        kept = f"{build_id(directory / 'common')}.sections" if name == "one" else f"{build_id(directory / 'three')}-dwp.sections"
        reads(directory / name).expect(out="7 5\n")
        expect_true((cache / kept).exists(), f"{kept} is among {list(cache.iterdir())}")
        number = (cache / kept).stat().st_ino
        for file in cache.glob("*.answers"):
            file.unlink()
        reads(directory / name).expect(out="7 5\n")
        expect((cache / kept).stat().st_ino, number, f"the file {kept}")
        expect_match(kept.removesuffix(".sections"), spile("cache", "list").expect(status=0).out)
        # Damaged: cut, or with bytes of somebody else's.
        whole = (cache / kept).read_bytes()
        for damaged in whole[:-4096], whole[:5000], whole[:1000] + os.urandom(3000) + whole[4000:], b"":
            (cache / kept).write_bytes(damaged)
            for file in cache.glob("*.answers"):
                file.unlink()
            expect_true(reads(directory / name).status in (0, 1), "a damaged file is an error, or not used")
elif VARIANT == "mini":
    (directory / "work.c").write_text(SOURCE.replace("long work", "static long work"))
    run("gcc", "-O1", "-o", "work", "work.c")
    run("objcopy", "-S", "--keep-symbol=work", "--keep-symbol=main", "work", "mini")
    run("objcopy", "--only-keep-debug", "mini", "mini.debug")
    run("xz", "-kf", "mini.debug")
    run("strip", "work")
    counts = ("-e", 'probe process.function("work") { println(probefunc()) }', "-c", program_file)
    spile(*counts).expect(status=1)
    run("objcopy", "--add-section", ".gnu_debugdata=mini.debug.xz", "work")
    spile(*counts).expect(out="work\n")
    # Damaged: as if it were not there.
    damaged = bytearray((directory / "mini.debug.xz").read_bytes())
    damaged[len(damaged) // 2] ^= 0xff
    (directory / "damaged.xz").write_bytes(damaged)
    run("objcopy", "--update-section", ".gnu_debugdata=damaged.xz", "work")
    spile(*counts).expect(status=1, err_match="has no symbols")
elif VARIANT == "unwind":
    run("gcc", "-O1", "-no-pie", "-o", "work", "work.c")
    symbols = subprocess.run(["nm", program_file], stdout=subprocess.PIPE, text=True, check=True).stdout
    address = int(re.search(r"([0-9a-f]+) T work", symbols)[1], 16)
    run("strip", "work")
    spile("-e", 'probe process.function("work") { println(1) }', "-c", program_file).expect(status=1, err_match="its functions are not known by name")
    listed = spile("-l", f'process("{program_file}").function("0x*")').out
    expect_true(f'function("{address:#x}")' in listed, listed)
    spile("-e", f'probe process.function({address:#x}).return {{ println(returnval()) }} probe process.function("{address:#x}") {{ println(int_arg(2)) }}', "-c",
          program_file).expect(out="5\n12\n")
elif VARIANT == "limits":
    # Servers that send slowly, nothing, or more than a limit: a warning, also where the script needs none of it.
    import gzip
    run("gcc", "-O1", "-Wl,--build-id", "-o", "work", "work.c")

    def served(head, pieces, pause):
        """The URL of a server that answers so; pieces are sent again and again."""
        listener = socket.create_server(("127.0.0.1", 0))

        def answer(connection):
            try:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)
            except OSError:
                pass
            connection.close()

        def serve():
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    def endless(piece):
        while True:
            yield piece

    bomb = gzip.compress(bytes(1 << 28))
    drips = served(b"", endless(b"x"), 0.2)
    stops = served(b"Content-Length: 9000\r\n", (b"x",), 300)
    floods = served(b"", endless(bytes(1 << 16)), 0.01)
    pieces = [bomb[i:i + 4096] for i in range(0, len(bomb), 4096)]
    squeezed = served(f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n".encode(), pieces, 0.2)
    large = served(b"Content-Length: 900000000\r\n", endless(bytes(1 << 16)), 0.1)
    slow = r"did not send the debug information in time \((nothing came for )?\d s\)"
    big = r"sent \d+ MB, more than the debug information of a run may take|larger than \$DEBUGINFOD_MAXSIZE"
    for url, variables, options, wanted in (
            (drips, {}, ["--download-debuginfo=2"], slow), (drips, {"DEBUGINFOD_MAXTIME": "2"}, [], slow),
            (stops, {"DEBUGINFOD_TIMEOUT": "2"}, [], slow), (floods, {"DEBUGINFOD_MAXSIZE": "1000000"}, [], big),
            (squeezed, {"DEBUGINFOD_MAXSIZE": "20000000"}, [], big), (large, {"DEBUGINFOD_MAXSIZE": "20000000"}, [], big)):
        shutil.rmtree(directory / "debuginfod_client", ignore_errors=True)
        shutil.rmtree(directory / "cache", ignore_errors=True)
        begin = time.monotonic()
        shows = 'probe process.function("work") { println("<", $$parms, ">") }'
        result = subprocess.run([str(SPILE), *options, "-e", shows, "-c", str(program_file)], cwd=directory, capture_output=True,
                                text=True, timeout=120, env={**os.environ, **variables, "DEBUGINFOD_URLS": url})
        expect((result.returncode, result.stdout), (0, "<>\n"), f"{wanted}: {result.stderr}")
        expect_match(f"^WARNING: (http|the debug information that http).*({wanted})", result.stderr)
        expect_true(time.monotonic() - begin < 60, f"{wanted}: {time.monotonic() - begin} s")
elif VARIANT == "server":
    if not shutil.which("debuginfod"):
        skip("needs debuginfod")
    run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", "work", "work.c")
    served = directory / "served"
    served.mkdir()
    run("objcopy", "--only-keep-debug", "work", served / "work.debug")
    shutil.copy(program_file, served / "work")
    run("strip", "-g", "work")
    port = free_port()
    log = open(directory / "log", "w+")
    process = subprocess.Popen(["debuginfod", "-vv", "-p", str(port), "-d", ":memory:", "-F", served], stdout=log, stderr=log, cwd=directory)
    try:
        urls = f"http://127.0.0.1:{port}"

        def ready():
            try:
                return urllib.request.urlopen(f"{urls}/buildid/{build_id(program_file)}/debuginfo").status == 200
            except OSError:
                return False

        wait_until(ready, 60, "debuginfod has read the folder", lambda: (directory / "log").read_text())
        # Nobody is asked without $DEBUGINFOD_URLS, nor with =no.
        reads(program_file).expect(status=1, err_match="has no debug information")
        os.environ["DEBUGINFOD_URLS"] = urls
        reads(program_file, "--download-debuginfo=no").expect(status=1, err_match="has no debug information")
        reads(program_file).expect(out="7 5\n", err="")
        # Of a build that the server does not have.
        run("gcc", "-g", "-O2", "-Wl,--build-id", "-s", "-o", "other", "work.c")
        reads(directory / "other").expect(status=1, err_match=rf"{urls} has no debug information of build-id {build_id(directory / 'other')}")
    finally:
        process.terminate()
        process.wait()
    shutil.rmtree(directory / "debuginfod_client")
    shutil.rmtree(directory / "cache", ignore_errors=True)
    reads(program_file).expect(status=1, err_match=rf"{urls} can't be reached: ")
    # One that takes connections and does not answer.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        os.environ["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        reads(program_file, "--download-debuginfo=1").expect(status=1, err_match=r"did not send the debug information in time")
        expect_true(time.monotonic() - begin < 60, "the time-out holds")
    # One that sends less than it says, and one that sends without end, until little of the disk is left.
    for sent, wanted in (b"Content-Length: 9000\r\n\r\nshort", "has no debug information of build-id [0-9a-f]+, or failed to send it"), (b"\r\n", r"sent \d+ MB until the disk of .* was nearly full"):
        if sent == b"\r\n" and os.geteuid() != 0:
            continue
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                while True:
                    connection, _ = listener.accept()
                    try:
                        connection.recv(4096)
                        connection.sendall(b"HTTP/1.1 200 OK\r\n" + sent)
                        while sent == b"\r\n":
                            connection.sendall(bytes(1 << 20))
                    except OSError:
                        pass
                    connection.close()
            threading.Thread(target=serve, daemon=True).start()
            os.environ["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
            small = directory / "small"
            small.mkdir(exist_ok=True)
            in_small = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=640m none {small} && exec "$@"', "sh"] if sent == b"\r\n" else []
            result = subprocess.run([*in_small, str(SPILE), "-e", READS, "-c", str(program_file)], cwd=directory, capture_output=True, text=True, timeout=300,
                                    env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(small)})
            expect(result.returncode, 1, result.stderr)
            expect_match(wanted, result.stderr)
    os.environ.pop("DEBUGINFOD_URLS")
    reads(program_file, "--download-debuginfo=yes").expect(status=1)
    spile("--download-debuginfo=maybe", "-e", "probe begin {}").expect(status=1, err_match="invalid argument 'maybe' for --download-debuginfo")
else:
    fail(f"no variant {VARIANT}")
