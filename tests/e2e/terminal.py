# Output that goes to a terminal: control characters of the traced program are shown, the script's own are obeyed; files and
# pipes get all as it is.
import pty
from spiletest import *

EVIL = "a\x1b]0;owned\x07b\x9b31m\xc2\x9b31m\r\x08Grüße\tc"
directory = temporary_directory()
name = directory / "\x1b[31mprogram"
shutil.copy(program("calls"), name)
text = directory / "text"
text.write_bytes(EVIL.encode("latin-1").replace("Grüße".encode("latin-1"), "Grüße 世".encode()))


def on_terminal(*arguments):
    """What a terminal gets, and the status."""
    control, terminal = pty.openpty()
    process = subprocess.Popen(spile_words(arguments), stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    os.close(terminal)
    got = b""
    while True:
        try:
            piece = os.read(control, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    os.close(control)
    got = re.sub(rb"\r(spile: [\w ]+)?\x1b\[K\r", b"", got)  # what spile does for so long, on a busy machine
    return got.replace(b"\r\n", b"\n"), process.wait(60 * PATIENCE)


def environment(script):
    """A script whose process has the text in its environment."""
    return ["-e", script, "-c", f"env EVIL=\"$(cat '{text}')\" {program('calls')} 1"]


SHOWN = "a\\033]0;owned\\007b\\23331m\\302\\23331m\\015\\010Grüße 世\tc".encode()
RAW = text.read_bytes()
WHERE = f'probe process("{program("calls")}").function("foo")'
for what, script in [
        ("printf in a process", WHERE + ' { printf("\\033[1m%s\\033[m\\n", env_var("EVIL")) }'),
        ("through a global", 'global s ' + WHERE + ' { s = env_var("EVIL") } probe end { print("\\033[1m", s, "\\033[m\\n") }'),
        ("by the character", WHERE + ' { s = env_var("EVIL") print("\\033[1m") for (i = 0; i < strlen(s); '
                                     'i++) printf("%c", stringat(s, i)) print("\\033[m\\n") }'),
        ("a color in a variable", WHERE + ' { on = "\\033[1m" printf("%s%s%s\\n", on, env_var("EVIL"), "\\033[m") }'),
        ("a global color", 'global on = "\\033[1m" ' + WHERE + ' { print(on, env_var("EVIL"), "\\033[m\\n") }')]:
    got, status = on_terminal(*environment(script))
    expect((b"\x1b[1m" + SHOWN + b"\x1b[m\n" in got, status), (True, 0), f"{what}: {got}")
    expect_true(RAW not in got and b"\x07" not in got, f"{what}: {got}")
for what, script in [("warn()", WHERE + ' { warn(env_var("EVIL")) }'), ("error()", WHERE + ' { error(env_var("EVIL")) }')]:
    got, status = on_terminal(*environment(script))
    expect_true(SHOWN in got and b"\x07" not in got, f"{what}: {got}")

# The tapset's functions, and what a script makes of its own text.
got, status = on_terminal("-e", 'function red(s) { return "\\033[31m" . s . "\\033[m" } '
                                'probe begin { ansi_clear_screen() ansi_set_color(31) '
                          'x = red("own") x = x . sprintf("\\033[%dm", 1) println(x) exit() }')
expect(got, b"\x1b[1;1H\x1b[J\x1b[31m\x1b[31mown\x1b[m\x1b[1m\n", "the script's own")
# Names of files and functions, in lists and messages.
for arguments in [("-l", f'process("{name}").function("foo")'), ("-e", f'probe process("{name}").function("none") {{}}'),
                  ("-v", "-e", 'probe process.function("foo") {}', "-c", f"'{name}' 1")]:
    got, status = on_terminal(*arguments)
    expect_true(b"\\033[31mprogram" in got and b"\x1b[31mprogram" not in got, f"{arguments[0]}: {got}")
# Elsewhere, nothing changes.
result = subprocess.run([str(SPILE), *environment(WHERE + ' { print(env_var("EVIL")) }')], capture_output=True, timeout=300)
expect_true(RAW in result.stdout, f"a pipe: {result.stdout}")
spile("-o", directory / "out", *environment(WHERE + ' { print(env_var("EVIL")) }')).expect(status=0)
expect((directory / "out").read_bytes(), RAW, "a file")
