# What holds the documents together: links and paths lead somewhere, the indexes are complete, the glossary is in order, and the
# changelog is about this version.
from spiletest import *

documents = sorted(path for pattern in ("*.md", "docs/**/*.md", "src/**/*.md", "tools/**/*.md") for path in ROOT.glob(pattern))
expect_true(len(documents) > 30, f"{len(documents)} documents")


def prose(path):
    """The text without code: a `[x](y)` of a script is not a link."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", re.sub(r"^    .*$", "", text, flags=re.M))


def anchors(path):
    """What a heading can be linked by: its words in lower case, with hyphens between, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def targets(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if not re.match(r"https?://", link):
            name, _, anchor = link.partition("#")
            yield link, (path.parent / name).resolve() if name else path, anchor


for path in documents:
    for link, target, anchor in targets(path):
        expect_true(target.exists(), f"{path.relative_to(ROOT)}: nothing is at {link}")
        expect_true(not anchor or anchor in anchors(target), f"{path.relative_to(ROOT)}: no heading for {link}")

# Every document can be reached from the index, every decision from its own.
linked = {target for _, target, _ in targets(ROOT / "docs/README.md")}
missing = [path.name for path in ROOT.glob("docs/*.md") if path not in linked and path.name != "README.md"]
expect(missing, [], "documents that docs/README.md lacks")
numbers = [path.name[:3] for path in sorted(ROOT.glob("docs/decisions/[0-9]*.md"))]
expect(re.findall(r"^\| \[(\d+)\]\(\1-", (ROOT / "docs/decisions/README.md").read_text(), re.M), numbers,
       "docs/decisions/README.md")
for path in ROOT.glob("docs/decisions/[0-9]*.md"):
    expect_true(path.read_text().startswith(f"# {path.name[:3]}: "), f"{path.name} has its number in the heading")

# Files and folders that the documents name by their path are there.
folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()} | {"src", "tests", "docs", "tools", "bench", "fuzz",
                                                                               "cmake", "tapset"}
named = 0
for path in documents:
    if path.name == "CHANGELOG.md":
        continue  # is about former versions
    for name in re.findall(r"`([\w./*-]+/[\w./*-]+)`", path.read_text()):
        if name.partition("/")[0] in folders and "NAME" not in name:
            places = [found for base in (ROOT, ROOT / "src", path.parent) for end in ("", ".*")
                      for found in base.glob(name.rstrip("/") + end)]
            expect_true(places, f"{path.relative_to(ROOT)}: nothing is at {name}")
            named += 1
expect_true(named > 50, f"{named} paths in the documents")

# -x takes names. pidof and pgrep print the numbers of several processes, or none: not what a reader wants to copy.
kinds = re.compile(r"\.(md|stpm?|py|c|cpp|h|txt|[1-9])$")
readers = [path for pattern in ("*.md", "docs/**/*", "examples/**/*", "tapset/**/*", "tools/**/*.md", "src/**/*")
           for path in ROOT.glob(pattern) if path.is_file() and kinds.search(path.name.removesuffix(".in"))]
expect_true(len(readers) > 500 and any(path.parent.name == "man" for path in readers), f"{len(readers)} files")
substituted = re.compile(r"""-x\s*["']?(?:\$\(|`)\s*(?:pidof|pgrep)""")
expect([str(path.relative_to(ROOT)) for path in readers if substituted.search(path.read_text(errors="replace"))], [],
       "files that write -x $(pidof NAME) rather than -x NAME")

glossary = (ROOT / "docs/glossary.md").read_text()
terms = [term.lower() for term in re.findall(r"^\*\*(.*?)\*\*", glossary, re.M)]
expect(terms, sorted(terms), "the glossary's order")
for word in re.findall(r"(?<!\*)\*([\w -]+)\*(?!\*)", glossary.partition("\n\n**")[2]):
    singular = re.sub(r"(alias|)e?s$", r"\1", word.lower())
    expect_true({word.lower(), word.lower().removesuffix("s"), singular} & set(terms), f"the glossary has no entry {word!r}")

version = re.search(r"^project\(spile VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
spile("--version").expect(status=0, out_match=rf"^spile {re.escape(version)} ")
newest = re.search(r"^## \[(\d[\d.]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
expect(newest, version, "the newest version in CHANGELOG.md")

# Each tool for the kernel has a line in their index, and a test that runs it.
index = (ROOT / "examples/kernel/README.md").read_text()
tests = "".join(path.read_text() for pattern in ("tests/vm/cases/*.sh", "tests/e2e/*.py") for path in ROOT.glob(pattern)
                if path.name != "documents.py")
tools = sorted(path.stem for path in ROOT.glob("examples/kernel/*.stp"))
expect_true(len(tools) >= 38, f"{len(tools)} tools")
expect([name for name in tools if not re.search(rf"\b{name}(?![a-z])", index)], [], "tools that examples/kernel/README.md lacks")
expect([name for name in tools if not re.search(rf"\b{name}\b", tests)], [], "tools without a test")
scripts = sorted(str(path.relative_to(ROOT / "examples")) for pattern in ("*.stp", "programs/*.stp")
                 for path in (ROOT / "examples").glob(pattern))
expect(sorted(re.findall(r"\((\S+\.stp)\)", (ROOT / "examples/README.md").read_text())), scripts, "scripts of examples/README.md")
