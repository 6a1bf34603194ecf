"""Asks an installed Salt and its Python what becomes of texts; prints text_edits.json. Usage: PYTHON make_text_edits.py > text_edits.json

PYTHON is the interpreter of an environment with Salt in it. See README.md beside this file.
`diffs`: lists of lines from a seed, and what difflib makes of them. `replacements`: re.subn. `edits`: functions of `file` over a file of their own.
"""
import difflib
import json
import logging
import os
import random
import re
import shutil
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
import salt.config
import salt.loader
import salt.version

logging.disable(logging.CRITICAL)


def diffs():
    rng = random.Random(11)
    cases = []
    for number in range(120):
        words = [str(index) for index in range(rng.choice([2, 4, 12]))]
        first = [rng.choice(words) for _ in range(rng.randint(0, 40))]
        second = [line for line in first if rng.random() > 0.15]
        for _ in range(rng.randint(0, 6)):
            second.insert(rng.randint(0, len(second)), rng.choice(words + ["new"]))
        context = rng.choice([0, 1, 3])
        cases.append([first, second, context, list(difflib.unified_diff(first, second, "a", "b", n=context, lineterm=""))])
    # In texts beyond 200 lines, Python ignores lines that occur too often.
    first = [rng.choice("abcdefgh") if rng.random() < 0.5 else str(index) for index in range(320)]
    second = [line for line in first if rng.random() > 0.05]
    cases.append([first, second, 3, list(difflib.unified_diff(first, second, "a", "b", lineterm=""))])
    return cases


REPLACEMENTS = [
    [r"line (\w+)", r"<\1>", "", "line a\nline b\n", 0],
    [r"line (\w+)", r"<\g<1>0>", "", "line a\nline b\n", 1],
    [r"(?P<k>\w+)=(?P<v>.*)$", r"\g<v>=\g<k>", "m", "a=1\nb=2\n", 0],
    [r"^", "# ", "m", "a\nb\n", 0],
    [r"$", "!", "m", "a\nb\n", 0],
    [r"$", "!", "", "a\nb\n", 0],
    [r"x*", "-", "", "abxd", 0],
    [r"a.c", "_", "", "a\nc abc", 0],
    [r"a.c", "_", "s", "a\nc abc", 0],
    [r"ABC", "_", "i", "abc aBc", 0],
    [r"(?i:a)b", "_", "", "Ab AB ab", 0],
    [r"a b # comment", "_", "x", "ab a b", 0],
    [r"<(.+?)>", r"[\1]", "", "<a><b>", 0],
    [r"<(.+)>", r"[\1]", "", "<a><b>", 0],
    [r"(['\"])(.*?)\1", r"<\2>", "", "'a' \"b'c\" 'd\"", 0],
    [r"(?P<q>['\"]).(?P=q)", "q", "", "'a' \"b' 'c'", 0],
    [r"foo(?!bar)", "_", "", "foobar foobaz", 0],
    [r"(?<!x)foo", "_", "", "xfoo foo", 0],
    [r"(?<=ab)c", "_", "", "abc xc", 0],
    [r"[^\w\s]+", "_", "", "a, b. -- c_d", 0],
    [r"[]a-]", "_", "", "]-abc", 0],
    [r"\bcat\b", "dog", "", "cat concat cat.", 0],
    [r"\Bcat", "dog", "", "cat concat", 0],
    [r"\d{2,3}", "#", "", "1 12 123 1234", 0],
    [r"\d{,2}x", "#", "", "x 1x 123x", 0],
    [r"x{a}", "#", "", "x{a}", 0],
    [r"[\d.]+", "#", "", "1.2.3 v4", 0],
    [r"\Aline|b\Z", "_", "m", "line\nline b", 0],
    [r"(a)?b", r"[\1]", "", "ab b", 0],
    [r"(a)|(b)", r"[\1\2]", "", "ab", 0],
    [r"\x41\t", "_", "", "A\tA ", 0],
    [r"\101", "_", "", "A", 0],
    [r"a|b|", "_", "", "abc", 0],
    [r"(\d+)-(\d+)", r"\2-\1", "", "1-2 33-44", 0],
    [r"x", r"\n\t\\ \. \& $1 $& \0", "", "x", 0],
    [r"x", "\\x", "", "x", 0],
    [r"x", r"\2", "", "x", 0],
    [r"x", r"\g<n>", "", "x", 0],
    [r"(x", "y", "", "x", 0],
    [r"x)", "y", "", "x", 0],
    [r"*x", "y", "", "x", 0],
    [r"[x", "y", "", "x", 0],
    [r"(?<=x+)y", "_", "", "xy", 0],
    [r"\w+", "_", "", "Grüße ÄÖ", 0],
    [r"ä", "ae", "i", "Ä ä", 0],
    [r".{2}", "_", "", "äöü", 0],
    [r"[ä-ü]", "_", "", "aäöüz", 0],
]


def replacements():
    cases = []
    for pattern, template, letters, text, count in REPLACEMENTS:
        flags = sum(getattr(re, letter.upper()) for letter in letters)
        for is_bytes in (False, True):
            coded = (lambda value: value.encode()) if is_bytes else (lambda value: value)
            try:
                result, number = re.subn(coded(pattern), coded(template), coded(text), count, flags)
                answer = [result.decode("latin1") if is_bytes else result, number]
            except (re.error, IndexError) as error:
                answer = None
            cases.append([pattern, template, letters, text, count, is_bytes, answer])
    return cases


MAIN = "mine_interval: 1\nline a\nline b\n"
INDENTED = "[some]\n    here=False\n    away=True\n\n[other]\n    end"


def edits():
    def case(text, function, **kwargs):
        return [text, function, kwargs]

    def replace(text=MAIN, **kwargs):
        return [text, "replace", kwargs]

    def line(text=MAIN, **kwargs):
        return [text, "line", kwargs]

    cases = [
        replace(pattern="line a", repl="LINE A"),
        replace(pattern="line a", repl="line a"),
        replace(pattern="nothing", repl="x"),
        replace(pattern="nothing", repl="x", show_changes=False),
        replace(pattern="line a", repl="x", show_changes=False),
        replace(pattern="line a", repl="x", backup=False),
        replace(pattern="line a", repl="x", backup=".orig", preserve_inode=False),
        replace(pattern="line a", repl="x", dry_run=True),
        replace(pattern="line a", repl="x", dry_run=True, show_changes=False),
        replace(pattern="^line", repl="#", count=1),
        replace(pattern="^LINE", repl="#", flags=["IGNORECASE", "MULTILINE"]),
        replace(pattern="^LINE", repl="#", flags="ignorecase"),
        replace(pattern="^LINE", repl="#", flags=10),
        replace(pattern="^LINE", repl="#", flags=["NOSUCH"]),
        replace(pattern="^LINE", repl="#", flags={"a": 1}),
        replace(pattern="a.line", repl="#", flags=["DOTALL"], bufsize="file"),
        replace(pattern="line ([ab])", repl="\\1 line"),
        replace(pattern="line ([ab])", repl="\\1 line", backslash_literal=True),
        replace(pattern="line ([ab])", repl="\\q"),
        replace(pattern="line ([ab]", repl="x"),
        replace(pattern="nothing", repl="more", append_if_not_found=True),
        replace(pattern="nothing", repl="more", prepend_if_not_found=True),
        replace(pattern="nothing", repl="line b", append_if_not_found=True),
        replace(pattern="nothing", repl="\\1", not_found_content="more", append_if_not_found=True),
        replace(pattern="nothing", repl="more", append_if_not_found=True, dry_run=True),
        replace(text="no end", pattern="nothing", repl="more", append_if_not_found=True),
        replace(text="", pattern="nothing", repl="more", append_if_not_found=True),
        replace(text="", pattern="x", repl="y"),
        replace(text="a\r\nb\r\n", pattern="nothing", repl="b", append_if_not_found=True),
        replace(text="a\r\nb\r\n", pattern="^a$", repl="c"),
        replace(text="a\r\nb\r\n", pattern="^a", repl="c"),
        replace(text="Grüße\n", pattern="ü", repl="ue"),
        replace(text="Grüße\n", pattern="Gr..", repl="x"),
        replace(text="no end", pattern="end", repl="start"),
        replace(pattern="x", repl="y", append_if_not_found=True, prepend_if_not_found=True),
        replace(pattern="x", repl="y", append_if_not_found=True, search_only=True),
        replace(pattern="line b", repl="", search_only=True),
        replace(pattern="line c", repl="", search_only=True),
        replace(pattern="1", repl=2),
        replace(text="a\0b", pattern="a", repl="b"),
        replace(text=None, pattern="a", repl="b"),
        replace(text=None, pattern="a", repl="b", ignore_if_missing=True),
        case(MAIN, "search", pattern="line a"),
        case(MAIN, "search", pattern="^line a$"),
        case(MAIN, "search", pattern="a.line", flags=["DOTALL"], multiline=True),
        case(MAIN, "search", pattern="^line a$", flags=[]),
        case(None, "search", pattern="x"),
        case(None, "search", pattern="x", ignore_if_missing=True),
        case(MAIN, "contains_regex", regex="^line [ab]$"),
        case("  # x\n", "contains_regex", regex="^x", lchar=" #"),
        case("  # x\n", "contains_regex", regex="^x"),
        case(None, "contains_regex", regex="x"),
        case(MAIN, "comment", regex="line"),
        case(MAIN, "comment", regex="^line a$"),
        case(MAIN, "comment", regex="nothing"),
        case("#line a\n# line b\nline c\n", "uncomment", regex="^line"),
        case("#line a\n# line b\nline c\n", "uncomment", regex="line b$", char="#", backup=False),
        case("//x\n", "comment_line", regex="^x", char="/", cmnt=False, backup=".old"),
        case(MAIN, "comment_line", regex="^line", char=";"),
        case(None, "comment", regex="x"),
        line(content="last", mode="ensure", location="end"),
        line(content="last", mode="insert", location="end"),
        line(content="first", mode="insert", location="start"),
        line(content="new", mode="ensure", after="line a"),
        line(content="new", mode="ensure", before="line a"),
        line(content="line b", mode="ensure", after="line a"),
        line(content="new", mode="ensure", after="line a", before="line b"),
        line(content="new", mode="ensure", after="mine", before="line b"),
        line(content="new", mode="ensure", after="mine", before="nothing"),
        line(content="new", mode="ensure", after="line"),
        line(content="new", mode="insert", after="line a"),
        line(content="new", mode="insert", before="line a"),
        line(content="new", mode="insert", before="mine"),
        line(content="new", mode="ensure", before="mine"),
        line(content="new", mode="insert", after="mine", before="line b"),
        line(content="new", mode="insert", after="nothing"),
        line(content="new", mode="insert"),
        line(content="new", mode="replace", match="line"),
        line(content="new", mode="replace", match="nothing"),
        line(content="line a", mode="delete"),
        line(mode="delete", match="line"),
        line(mode="delete", match="^line b$"),
        line(mode="replace", match="line"),
        line(content="new"),
        line(content="new", mode="nonsense"),
        line(content="new", mode="ENSURE", after="line a"),
        line(content="new", mode="ensure", after="(line"),
        line(content="new", mode="ensure", after="line b", show_changes=False),
        line(content="line b", mode="ensure", after="line a", show_changes=False),
        line(content="new", mode="insert", after="line a", quiet=True),
        case(None, "line", content="new", mode="insert", location="end"),
        case(None, "line", content="new", mode="insert", location="end", quiet=True),
        case("", "line", content="new", mode="insert", location="end"),
        case("", "line", content="new", mode="insert", location="start"),
        case("", "line", content="new", mode="delete"),
        case("", "line", content="new", mode="ensure", after="x"),
        case("one", "line", content="new", mode="insert", location="end"),
        case("one", "line", content="new", mode="ensure", after="one"),
        case(INDENTED, "line", content="away=False", mode="replace", match="away"),
        case(INDENTED, "line", content="away=False", mode="replace", match="away", indent=False),
        case(INDENTED, "line", content="third=1", mode="ensure", after="away"),
        case(INDENTED, "line", content="  third=1", mode="insert", before="here", indent=False),
        case(INDENTED, "line", content="last", mode="insert", location="end"),
        case("a\r\nb\r\n", "line", content="c", mode="ensure", after="b"),
        case("a\r\nb\r\n", "line", content="c", mode="ensure", before="b"),
        case("a.b\naxb\n", "line", content="new", mode="replace", match="a.b"),
        case("Grüße\n", "line", content="Ä", mode="ensure", after="Gr.ße"),
    ]
    root = tempfile.mkdtemp()
    opts = salt.config.minion_config(None)
    opts.update(file_client="local", root_dir=root, cachedir=os.path.join(root, "cache"), test=False)
    opts["grains"] = salt.loader.grains(opts)
    functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))
    results = []
    for number, (content, function, kwargs) in enumerate(cases):
        folder = os.path.join(root, str(number))
        os.mkdir(folder)
        path = os.path.join(folder, "f")
        if content is not None:
            with open(path, "wb") as handle:
                handle.write(content.encode())
        try:
            outcome = {"value": functions[f"file.{function}"](path, **kwargs)}
        except Exception as error:  # pylint: disable=broad-except
            outcome = {"error": type(error).__name__, "text": str(error).replace(folder, "FOLDER")}
        files = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as handle:
                files[name] = handle.read().decode()
        results.append({"content": content, "function": f"file.{function}", "kwargs": kwargs, **outcome, "files": files})
    shutil.rmtree(root)
    return results


json.dump(
    {"salt": salt.version.__version__, "python": sys.version.split()[0], "diffs": diffs(), "replacements": replacements(), "edits": edits()},
    sys.stdout,
    ensure_ascii=False,
    indent=None,
    separators=(",", ":"),
)
