# Values of Rust's and Go's types are printed as people think of them, from optimized and unoptimized programs.
# variants: go_O0 go_O2 rust_O0 rust_O2
import struct

from spiletest import *

LANGUAGE, LEVEL = VARIANT.split("_")
PATH = BUILD / f"programs/{LANGUAGE}_values_{LEVEL}"
if not PATH.exists():
    skip(f"this build has no {PATH.name}: {'rustc' if LANGUAGE == 'rust' else 'golang-1.19-go'} is not installed")


def parameters(function, pretty="$$parms$$", *options):
    out = spile(*options, "-D", "MAXSTRINGLEN=2000", "-o", "/dev/stderr", "-e",
                f'probe process.function("{function}") {{ println({pretty}) }}', "-c", PATH).expect(status=0)
    return out.err.splitlines()


if LANGUAGE == "go":
    expect(parameters("main.text"), [r's="hello, \"world\"\n" empty=""'])
    # Go 1.19 describes arguments that don't fit into registers wrongly where it optimizes, 8 bytes too far: gdb prints the same.
    points = "[{.X=1, .Y=2, .Name=\"p\"}, {.X=3, .Y=4, .Name=\"q\"}]"
    first, second = parameters("main.slices")
    expect_match(r'^numbers=\[1, -2, 3\] words=\["a", "bc"\] none=\[\] points=' + (re.escape(points) if LEVEL == "O0" else r"\["),
                 first)
    expect_match(rf"^numbers=\[{', '.join(str(n) for n in range(32))}, \.\.\.\] words=\[\] none=\[5, 6\]", second)
    expect(parameters("main.slices", "$numbers$$", "-D", "MAXPRETTYELEMENTS=2"), ["[1, -2, ...]", "[0, 1, ...]"])
    expect(parameters("main.maps"), ['ages=map["ann": 31] none=map[] small=map[7: "seven"]'])
    expect(parameters("main.faults"), ['none=nil made=*errors.errorString("no such thing") own=*main.failure'])
    expect(parameters("main.mixed"), ['p={.X=1, .Y=2, .Name="p"} nothing=NULL v={.X=3, .Y=4, .Name="v"} b=1 f=2.5 any=int(42)'])
    shut = 'chan[{.X=1, .Y=2, .Name="p"}] (1 of 3) closed'
    expect(parameters("main.channels"),
           [f'full=chan[1, -2] (2 of 2) around=chan["first", "second"] (2 of 2) bare=chan shut={shut} none=nil'])
    # Generic functions: all strings have one type, whose name is not "string".
    lists = parameters("main.generic*", "$list$$ . \" \" . $one$$")
    expect(lists, ['["g"] "h"', "[1, 2] 3"])
    held = "{.Call=main.twice, .None=nil, .Nil={}, .Any=float64(-2.5), .Word=string(\"w\")}"
    boxed = '[int(1), int8(-2), uint16(3), float32(0.5), bool(1), string("s"), nil, *[]int]'
    # Results are not set yet where the function begins.
    expect(parameters("main.holds"), [f"h={held} anything={boxed} n=? err=?"])
    # A slice by its index, and a variable that lives on the heap by its name.
    source = (ROOT / "tests/programs/go_values.go").read_text().splitlines()
    place = next(number for number, text in enumerate(source, 1) if "keep = pointer" in text)
    out = spile("-o", "/dev/stderr", "-e", f'probe process.statement("main.holds@*:{place}") {{ println($kept$, " ", '
                                           f'$pointer$) }}', "-c", PATH).expect(status=0)
    expect(out.err, '"kept on the heap" "kept on the heap"\n')

    # On a line: what lies in the stack frame, too.
    line = next(number for number, text in enumerate((ROOT / "tests/programs/go_values.go").read_text().splitlines(), 1)
                if "return p.X" in text)
    if LEVEL == "O0":
        out = spile("-o", "/dev/stderr", "-e", f'probe process.statement("main.mixed@*:{line}") {{ println($v$, $f) }}', "-c",
                    PATH).expect(status=0)
        bits = struct.unpack("<q", struct.pack("<d", 2.5))[0]  # without $ behind it, a number of floating point is its bits
        expect(out.err, f'{{.X=3, .Y=4, .Name="v"}}{bits}\n')
else:
    in_registers = LEVEL == "O2"  # optimized, a slice's pointer is forgotten where only its length is used
    texts = parameters("texts")[0]
    expect_match(r'^owned="hello, \\"world\\"\\n" slice=', texts)
    if not in_registers:
        expect_match(r'slice="slice (ä|\\303\\244)" empty=""$', texts)
    expect_match(r'^numbers=\[1, -2, 3\] words=\["a", "bc"\] none=\[\]' + ("" if in_registers else r" part=\[7, 8\]$"),
                 parameters("vectors")[0])
    expect(parameters("options"), ['some=Some(5) none=None text=Some("text") nothing=None'])
    expect(parameters("results"), ['good=Ok(42) bad=Err("no such thing")'])
    expect(parameters("shapes"), ["a=Empty b=Circle(2.5) c=Rectangle{.width=3, .height=4} p={.x=1, .y=-2}"])
    expect(parameters("maps"), ['ages={"ann": 31} flag=1 letter=\'x\''])
