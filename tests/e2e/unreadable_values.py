# A null pointer is printed as NULL, and one that leads nowhere as <0x10: unreadable>; where the way to the value can't be read,
# it is ERROR, and what $$vars can't read is "?": none is an error of the script.
# A value that the script asks for by itself still is one.
# variants: pretty pretty_O0 pretty_gcc
from spiletest import *

PATH = program(VARIANT)
GOOD = '{.x=1, .in={...}, .text="text", .next=0xP, .low=5, .both=[...]}'
DEEP = '{.x=1, .in={.a=2, .name="in"}, .text="text", .next=0xP, .low=5, .both=[0xP, 0xP]}'

BAD = '<0x1000: unreadable>'


def run(script):
    result = spile("-e", script, "-c", PATH, "-o", "/dev/stderr").expect(status=0, out="done\n")
    return re.sub(r"0x[0-9a-f]{5,}", "0xP", result.err)


expect(run(r"""
probe process.function("pointed") {
  if (!$n) println($p$, " ", $p$$)
  else printf("%s %s %s %s %s\n", $p$, $p$$, $p->in$, $p->next$, $p->both$$)
  printf("%s|%s|%s\n", $$parms, $$parms$, $$vars$$)
  if ($n) println(@cast($p, "struct outer")$, @cast($p, "struct outer")->in$$, @var("shared")$, @var("shared")->in$)
}
probe process.function("doubly") { if ($n) println($p$, $$parms$$) }"""), f"""\
{GOOD} {DEEP}
p=0xP n=0x0|p={GOOD} n=0|p={DEEP} n=0
NULL NULL <0x4: unreadable> ERROR <0x28: unreadable>
p=0x0 n=0x1|p=NULL n=1|p=NULL n=1
NULL<0x4: unreadable>NULL<0x4: unreadable>
NULLp=NULL n=1
{BAD} {BAD} <0x1004: unreadable> ERROR <0x1028: unreadable>
p=0x1000 n=0x2|p={BAD} n=2|p={BAD} n=2
{BAD}<0x1004: unreadable>NULL<0x4: unreadable>
{BAD}p={BAD} n=2
""")

expect(run(r"""
probe process.function("referred") { printf("%s %s|%s|%s\n", $r$, $i$, $$parms, $$vars$) }
probe process.function("referred").return { printf("%s %s|%s|%s\n", $r$, $i$, $$parms, $$vars$) }
"""), f"""\
{GOOD} &3|r=0xP i=0x3 n=0x0|r={GOOD} i=&3 n=0
{GOOD} &3|r=0xP i=0x3 n=0x0|r={GOOD} i=&3 n=0 return=0
NULL &NULL|r=0x0 i=? n=0x1|r=NULL i=&NULL n=1
NULL &NULL|r=0x0 i=? n=0x1|r=NULL i=&NULL n=1 return=1
{BAD} &{BAD}|r=0x1000 i=? n=0x2|r={BAD} i=&{BAD} n=2
{BAD} &{BAD}|r=0x1000 i=? n=0x2|r={BAD} i=&{BAD} n=2 return=2
""")

expect(run(r"""
probe process.function("pointed").return { if ($n) println($p$, $$parms$, $$vars$$, @entry($p->in$)) }
probe process.function("result").return {
  p = $return
  if (!p) println($return$, $$return$, " ", $$return$$, " ", $$vars$, p->in$)
}"""), f"""\
NULLp=NULL n=1p=NULL n=1 return=1<0x4: unreadable>
NULLreturn=NULL return=NULL n=0 return=NULL<0x4: unreadable>
{BAD}p={BAD} n=2p={BAD} n=2 return=2<0x1004: unreadable>
""")

# In functions, too.
expect(run("""
function shown(p) { return @cast(p, "struct outer", "%s")$ . @cast(p, "struct outer", "%s")->in$$ . @var("shared", "%s")$ }
probe process.function("pointed") { println(shown($p)) }""".replace("%s", str(PATH))), f"""\
{GOOD}{{.a=2, .name="in"}}NULL
NULL<0x4: unreadable>NULL
{BAD}<0x1004: unreadable>NULL
""")

# What an index itself can't do is an error still, and so is a value without $.
spile("-e", 'function bad(n) { error("no index") return n } probe process.function("pointed") { println($p->both[bad($n)]$) }',
      "-c", PATH).expect(status=1, err_match="ERROR: no index")
spile("-e", 'probe process.function("pointed") { if ($n) println($p->x) }', "-c", PATH).expect(
    status=1, err_match=r"ERROR: read fault at 0x0 near '\$p->x'")
expect_match(r"^caught read fault at 0x1000$", spile(
    "-e", 'probe process.function("pointed") { if ($n == 2) try { println($p->x) } catch (m) { println("caught " . m) } }',
    "-c", PATH, "-o", "/dev/stderr").err, "the error that is caught")
