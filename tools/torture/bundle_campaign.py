#!/usr/bin/env python3
"""Runs bundles whose code or tables are changed, under right checksums: each must end with an error or run to its end, and leave
the program unharmed.

    tools/torture/bundle_campaign.py [--seconds S] [--seed N] [--kind KIND[,KIND]] [--runner PROGRAM] [--keep FOLDER]

Bundles of several scripts get one to three changes of one kind:

    target        bytes of the handlers that run in processes
    controller    bytes of the handlers that run in spile
    entries       where handlers begin, which functions the runner calls
    fixups        where code may fault, and where it goes on
    tables        constants beside the code
    layout        sizes and offsets of the memory that handlers and spile share
    fields        any other byte of the bundle

The runner attaches to a program that checks each of its own calls. As changed code of spile's own is any code, everything runs as
an ordinary user of its own. At the end a table says how often runner and program ended in which way. The status is 1 if the
runner died of a signal or did not end when asked to, or if the program was harmed in more than one round of fifty: the checker of
handlers believes sizes of arrays and indexes, so handlers where these are changed can overwrite spile's memory in the program,
and its stack (docs/security.md).
"""
import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SPILE_BUILD", ROOT / "build/release"))
USER = 64321  # nobody's number: whatever changed code does, it does as this user
KINDS = ("target", "controller", "entries", "fixups", "tables", "layout", "fields")

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct item { int price; const char* name; struct item* next; };
static volatile sig_atomic_t ending;
static void end(int signal) { (void)signal; ending = 1; }
__attribute__((noinline)) long price_of(struct item* item, int count) { asm volatile("" ::: "memory");
  return (long)item->price * count + (item->next ? item->next->price : 0); }
__attribute__((noinline)) int length_of(const char* name) { asm volatile("" ::: "memory"); return (int)strlen(name); }
int main(void) {
  long calls = 0, wrong = 0;
  signal(SIGTERM, end);
  struct item last = {7, "last", 0};
  for (int i = 0; !ending; i = (i + 1) % 1000) {
    struct item item = {i, i % 2 ? "odd" : "even", i % 3 ? &last : 0};
    struct item copy = item;
    wrong += price_of(&item, 3) != 3L * i + (i % 3 ? 7 : 0);
    wrong += length_of(item.name) != (i % 2 ? 3 : 4);
    wrong += memcmp(&item, &copy, sizeof item) != 0 || last.price != 7;
    ++calls;
    if (calls == 1) { puts("ready"); fflush(stdout); }
    if (calls % 64 == 0) usleep(50);
  }
  printf("calls %d wrong %ld\n", calls > 0, wrong);
  return 0;
}
"""

SCRIPTS = [
    'global n probe process.function("price_of") { n++ } probe timer.ms(60) { exit() } probe end { println(n > 0) }',
    'global t, c probe process.function("price_of").return { t <<< $return; '
    'c[$return % 7] <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } probe timer.ms(60) { exit() } '
    'probe end { print(@hist_log(t)); foreach (k+ in c) printf("%d %d\\n", k, @count(c[k])) }',
    'global calls, names[50] probe process.function("length_of") { calls[user_string($name), execname()]++; '
    'names[tid() % 50] = sprintf("%s-%d", user_string($name), pid()) } probe timer.ms(60) { exit() } '
    'probe end { foreach ([s, e] in calls- limit 5) printf("%s %s %d\\n", s, e, calls[s, e]) foreach (t in names) '
    'println(names[t]) }',
    'global n probe process.function("price_of") { if (n++ < 40) printf("%s %s %s\\n", ppfunc(), $$parms$, '
    'sprint_ubacktrace()) } probe process.function("length_of").return { if ($return > 9) error("long") } '
    'probe begin { printf("%s\\n", ctime(0)) } probe timer.ms(60) { exit() }',
    'global open, busy probe process.function("price_of") { open[tid()] = gettimeofday_ns() } '
    'probe process.function("price_of").return { if (open[tid()]) { busy[tokenize(ctime(1), " ")] <<< gettimeofday_ns() - '
    'open[tid()]; delete open[tid()] } } probe timer.ms(20) { foreach (s in busy) printf("%s %d\\n", s, @avg(busy[s])) delete '
    'busy } probe timer.ms(70) { exit() }',
]


# ---- bundles: session/bundle/bundle_file.h and bundle_fields.h say what lies where

HEADER = struct.Struct("<8sIIQQ")


def unpack(data):
    magic, version, _, packed, unpacked = HEADER.unpack_from(data)
    fields = zlib.decompress(data[HEADER.size:])
    assert len(data) == HEADER.size + packed and len(fields) == unpacked, "another form of bundles: this tool must follow"
    return magic, version, fields


def pack(magic, version, fields):
    packed = zlib.compress(bytes(fields), 1)
    return HEADER.pack(magic, version, zlib.crc32(packed), len(packed), len(fields)) + packed


class Image:
    """An abi::CodeImage at its place in the fields."""

    def __init__(self, fields, at):
        number = lambda where: struct.unpack_from("<Q", fields, where)[0]
        size = number(at)
        self.bytes = at + 8
        tail = self.bytes + size
        self.bounds = tail
        self.begin, self.end, count = number(tail), number(tail + 8), number(tail + 16)
        self.fixups, self.fixup_end = tail + 24, tail + 24 + 16 * count
        self.after = self.fixup_end + 16
        ok = 64 <= self.begin < self.end <= size and count <= size
        ok = ok and all(number(self.fixup_end + 8 * i) in (0, 1) for i in range(2))
        ok = ok and all(number(self.fixups + 16 * i) < size for i in range(count))
        if not ok:
            raise ValueError
        self.size = size


def images_of(fields):
    found, at = [], 0
    while at + 64 < len(fields):
        size = struct.unpack_from("<Q", fields, at)[0]
        if 256 <= size <= len(fields) - at - 48:
            try:
                image = Image(fields, at)
                if 0 in fields[image.bytes:image.bytes + 8] and image.begin < 4096:
                    found.append(image)
                    at = image.after
                    continue
            except (ValueError, struct.error):
                pass
        at += 1
    assert len(found) == 2, f"{len(found)} images of code in the bundle: this tool must follow its form"
    return found


def change_bytes(fields, begin, end, rng):
    at = rng.randrange(begin, end)
    how = rng.randrange(5)
    if how == 0:
        fields[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        fields[at] = rng.randrange(256)
    elif how == 2:
        at = min(at, end - 4)
        fields[at:at + 4] = rng.randbytes(4)
    elif how == 3:
        at = min(at, end - 4)
        fields[at:at + 4] = struct.pack("<i",
                                        rng.choice((0, -1, 1, 127, 4096, 0x7fffffff, -0x80000000, rng.randrange(-99999, 99999))))
    else:
        source = rng.randrange(begin, end - 8)
        at = min(at, end - 8)
        fields[at:at + 8] = fields[source:source + 8]


def change_number(fields, at, near, rng):
    old = struct.unpack_from("<Q", fields, at)[0]
    new = rng.choice((0, 1, old + rng.randrange(1, 16), max(0, old - rng.randrange(1, 16)), rng.randrange(near + 64),
                      1 << rng.randrange(64), 2**64 - 1))
    struct.pack_into("<Q", fields, at, new % 2**64)


def change(fields, kind, rng):
    controller, target = images_of(fields)
    layout = layout_of(fields)
    image = rng.choice((controller, target))
    for _ in range(rng.randrange(1, 4)):
        if kind in ("target", "controller"):
            image = target if kind == "target" else controller
            change_bytes(fields, image.bytes + image.begin, image.bytes + image.end, rng)
        elif kind == "entries":
            change_number(fields, image.after + 8 * rng.randrange(20), image.size, rng)
        elif kind == "fixups":
            spots = range(image.bounds, image.after, 8)
            change_number(fields, rng.choice(spots), image.size, rng)
        elif kind == "tables":
            first = rng.random() < 0.3 or image.end + 16 > image.size
            change_bytes(fields, image.bytes + (0 if first else image.end),
                         image.bytes + (image.begin if first else image.size), rng)
        elif kind == "layout":
            change_number(fields, layout + 8 * rng.randrange(33), 1 << 20, rng)
        else:
            change_bytes(fields, 16, len(fields), rng)


def changes_between(before, after):
    """Names the bytes that differ, by the part of the bundle that has them."""
    controller, target = images_of(before)
    parts = [("layout", layout_of(before), layout_of(before) + 33 * 8)]
    for name, image in (("controller", controller), ("target", target)):
        at = image.bytes
        parts += [(f"{name} cells", at, at + image.begin), (f"{name} code", at + image.begin, at + image.end),
                  (f"{name} constants", at + image.end, at + image.size), (f"{name} fixups", image.bounds, image.after)]
    runs = []
    for i in range(len(before)):
        if before[i] != after[i]:
            if runs and i - runs[-1][1] < 4:
                runs[-1][1] = i + 1
            else:
                runs.append([i, i + 1])
    texts = []
    for begin, end in runs:
        name, base = next(((n, b) for n, b, e in parts if b <= begin < e), ("fields", 0))
        texts.append(f"{name}+{begin - base:#x}: {before[begin:end].hex()} -> {after[begin:end].hex()}")
    return "; ".join(texts)


def layout_of(fields):
    """Where the codegen::ArenaLayout begins: 33 numbers that no others look like."""
    for at in range(images_of(fields)[0].bytes - 33 * 8):
        numbers = struct.unpack_from("<33Q", fields, at)
        size, globals_at, private, exchange, _, slots, stride, count = numbers[:8]
        ring = numbers[22]
        if (64 <= globals_at <= private < size < 1 << 44 and exchange < slots < size and 4096 <= stride and 1 < count < 1 << 20
            and slots + stride * count <= size and ring >= 4096 and ring & (ring - 1) == 0):
            return at
    raise AssertionError("no layout found in the bundle: this tool must follow its form")


# ---- running

def as_nobody():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


def ended(status):
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


class Campaign:
    def __init__(self, folder, runner):
        self.folder, self.runner = pathlib.Path(folder), runner
        os.chmod(folder, 0o711)
        (self.folder / "program.c").write_text(PROGRAM)
        self.program = self.folder / "program"
        subprocess.run(["gcc", "-g", "-O1", "-o", self.program, self.folder / "program.c"], check=True)
        self.home = self.folder / "home"
        self.home.mkdir()
        if os.geteuid() == 0:
            os.chown(self.home, USER, USER)
        self.environment = {**os.environ, "HOME": str(self.home), "TMPDIR": str(self.home)}
        self.bundles = []
        for i, script in enumerate(SCRIPTS):
            path = self.folder / f"{i}.spile"
            subprocess.run([BUILD / "bin/spile", "-p4", "-o", path, "-e", script, "-c", self.program], check=True)
            self.bundles.append(unpack(path.read_bytes()))
        self.counts = collections.defaultdict(collections.Counter)  # kind: how it ended: times
        self.bad = []
        self.harmed = 0  # rounds in which the program was

    def start_target(self):
        target = subprocess.Popen([self.program], stdout=subprocess.PIPE, text=True, preexec_fn=as_nobody, env=self.environment,
                                  cwd=self.home)
        target.stdout.readline()
        return target

    def round(self, seed, kind):
        rng = random.Random(seed)
        magic, version, fields = rng.choice(self.bundles)
        changed = bytearray(fields)
        if kind:
            change(changed, kind, rng)
        path = self.folder / "changed.spile"
        path.unlink(missing_ok=True)
        path.write_bytes(pack(magic, version, changed))
        if os.geteuid() == 0:
            os.chown(path, USER, USER)
        target = self.start_target()
        runner = subprocess.Popen([self.runner, path, "-x", str(target.pid), "-T", "1"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  preexec_fn=as_nobody, env=self.environment, cwd=self.home)
        error = b""
        try:
            _, error = runner.communicate(timeout=6)
            how = ended(runner.returncode)
        except subprocess.TimeoutExpired:
            runner.terminate()  # as a person would
            try:
                _, error = runner.communicate(timeout=8)
                how = "ended when asked to"
            except subprocess.TimeoutExpired:
                how = "does not end"
                runner.kill()
                _, error = runner.communicate()
        target.send_signal(signal.SIGTERM)
        try:
            out, _ = target.communicate(timeout=4)
            harmed = "" if target.returncode == 0 and out == "calls 1 wrong 0\n" else f"{ended(target.returncode)} {out.strip()}"
        except subprocess.TimeoutExpired:
            harmed = "hangs"
            target.kill()
            target.communicate()
        self.counts[kind or "unchanged"][f"runner: {how}"] += 1
        if harmed:
            self.counts[kind or "unchanged"][f"program: {harmed}"] += 1
        self.harmed += bool(harmed)
        if "signal" in how or how == "does not end":
            self.bad.append((seed, kind, how, harmed, error.decode(errors="replace").strip()[-300:]))
        return (f"runner {how}; program {harmed or 'unharmed'}; changed {changes_between(fields, changed)}; "
                f"{error.decode(errors='replace').strip()[-300:]!r}" if harmed or how not in ("status 0", "status 1") else "")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--round", type=int, help="only this round, by its number")
    parser.add_argument("--kind", default=",".join(KINDS))
    parser.add_argument("--runner", default=str(BUILD / "bin/spile-run"))
    parser.add_argument("--keep", help="keeps the changed bundles of bad rounds in this folder")
    options = parser.parse_args(arguments)
    kinds = options.kind.split(",")
    with tempfile.TemporaryDirectory(prefix="spile-test-bundles-") as folder:
        campaign = Campaign(folder, options.runner)
        for i in range(len(SCRIPTS)):
            campaign.round(i, "")
        if campaign.bad or campaign.harmed:
            print("unchanged bundles fail:", campaign.bad)
            return 2
        until, number = time.monotonic() + options.seconds, 0
        while time.monotonic() < until:
            seed, kind = options.seed * 1_000_000 + number, kinds[number % len(kinds)]
            number += 1
            if options.round is not None and number - 1 != options.round:
                continue
            noted = campaign.round(seed, kind)
            if noted:
                print(f"--seed {options.seed} --round {number - 1} ({kind}): {noted}", flush=True)
                if options.keep:
                    shutil.copy(campaign.folder / "changed.spile",
                                pathlib.Path(options.keep) / f"{options.seed}-{number - 1}.spile")
            if options.round is not None:
                break
        print(f"seed {options.seed}, {number} rounds")
        for kind, counts in campaign.counts.items():
            print(f"{kind:12}", ", ".join(f"{how} {count}" for how, count in sorted(counts.items())))
        print(f"runner died or did not end: {len(campaign.bad)}; program harmed: {campaign.harmed}")
    return 1 if campaign.bad or campaign.harmed > 1 + number // 50 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
