# docs/troubleshooting.md has an entry for every warning of the source, and quotes no message that the source does not have.
from spiletest import *

LITERALS = r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*'
PLACEHOLDER = r"\{[^{}]*\}|%(?:\.\*)?[a-z]+"


def text_of(literals):
    """What adjacent C++ literals are: the text that is printed, up to the end of its first line."""
    whole = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals))
    return re.sub(r"\\(.)", r"\1", whole.partition("\\n")[0].replace("{{", "(").replace("}}", ")"))


def warnings_of(source):
    """The texts of the warnings that this file prints."""
    for literals in re.findall(LITERALS, source):
        text = text_of(literals)
        if re.match("WARNING: |warning: ", text):
            yield text.partition(": ")[2]
    # Diagnostics: `.warning(range, ...)`, of the lexer `.warn(...)`. An argument may be made of several parts, and end with a
    # hint.
    for statement in re.findall(r"\.warn(?:ing)?\(((?:[^;\"]|" + LITERALS + r")*);", source):
        yield "{}".join(text_of(literals) for literals in re.findall(LITERALS, statement.partition(".hint(")[0]))
    # What warn() prints, of base/messages.h: the text, perhaps with a hint behind it.
    for argument in re.findall(r"(?<![.\w])warn\((?:fmt::format\(|sprintf\()?(?:[\w.()]+ \+ )?(" + LITERALS + ")", source):
        yield text_of(argument)
    # Tables and lists of texts that are printed behind a number.
    if re.search(r'(?:"WARNING: |warnings\.push_back\(fmt::format\("){} {}"', source):
        lists = re.findall(r"kTexts\[.*?\] = \{(.*?)\};", source, re.S) + re.findall(r"\badd\((.*?)\);", source, re.S)
        yield from (text_of(literals) for table in lists for literals in re.findall(LITERALS, table))
    # What the engine reports of one process.
    for statement in re.findall(r"\b(?:note_)?trouble\(((?:[^;\"]|" + LITERALS + r")*);", source):
        yield "process {}: " + "{}".join(text_of(literals) for literals in re.findall(LITERALS, statement))
    for argument in re.findall(r"warnings\.(?:push_back\(fmt::format|emplace_back)\((" + LITERALS + ")", source):
        yield text_of(argument)


def pieces(quote):
    """The words of a quoted message between its placeholders: `...`, and words in capitals."""
    return [piece.strip(" '\":") for piece in re.split(r"\.\.\.|\b[A-Z]+\b", quote) if piece.strip(" '\"$:;,/=-")]


def is_about(parts, text):
    """Whether a quote with these parts is about this text. Parts that the text lacks are from its arguments, such as "is" or "are"."""
    shared = sum(len(part) for part in parts if part in text)
    return shared >= min(20, 0.3 * len(re.sub(PLACEHOLDER, "", text)))


# Scripts of verbs are among the source: their warn(sprintf("...", ...)) prints, too.
sources = {path: path.read_text() for pattern in ("*.cpp", "*.stp") for path in sorted(ROOT.glob(f"src/**/{pattern}"))
           if not path.name.endswith("_test.cpp")}
document = (ROOT / "docs/troubleshooting.md").read_text()
quotes = [quote for cell in re.findall(r"^\| (.*?) \|", document, re.M) for quote in re.findall(r"`([^`]+)`", cell)]
expect_true(len(quotes) > 80, f"{len(quotes)} messages are quoted")

found = {(path.relative_to(ROOT), text) for path, source in sources.items() for text in warnings_of(source)}
# others print a message from elsewhere
own = {(path, text) for path, text in found if len(re.sub(PLACEHOLDER + r"|\W", "", text)) > 5}
expect_true(len(own) > 50, f"{len(own)} warnings found in the source")
known = [pieces(quote) for quote in quotes]
for path, text in sorted(own):
    expect_true(any(is_about(parts, text) for parts in known),
                f"docs/troubleshooting.md has no entry for the warning of {path}: {text}")

printed = {text_of(literals) for source in sources.values() for literals in re.findall(LITERALS, source)}
for quote, parts in zip(quotes, known):
    for part in parts:
        expect_true(any(part in text for text in printed),
                    f"docs/troubleshooting.md quotes {quote!r}, and the source prints no {part!r}")
