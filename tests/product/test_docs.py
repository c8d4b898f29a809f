# SPDX-License-Identifier: Apache-2.0
"""What the documents say is so: their commands and their Python run and print what is shown, and
every file and target that they name exists.

A `python` block runs after those before it in its document; a `text` block below it is what it
prints. In a `console` block each line that begins with "$ " is a command and the lines below it are
its output. An ellipsis stands for anything within a line, and on a line of its own for any lines.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import ROOT
from user import run

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "client/python/*.md", "tests/*/*.md")
    for path in ROOT.glob(pattern)
)
FILES = run(
    *("git", "ls-files", "--cached", "--others", "--exclude-standard"), cwd=ROOT
).stdout.splitlines()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
MAKE = re.compile(r"\bmake ((?:[A-Z]+=\S+ )*)([a-z][a-z-]*)")
# Words that are run nowhere and shown only.
SHOWN_ONLY = ("c", "")


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a document."""
    return [Block(*found) for found in FENCE.findall(path.read_text())]


def pattern_of(shown: str) -> re.Pattern[str]:
    """A regular expression for an output as a document shows it."""
    lines = []
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "…":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(re.escape(line.rstrip()).replace("…", ".*?") + r"[ \t]*\n")
    return re.compile("".join(lines))


def with_blocks(*languages: str) -> list[Path]:
    """The documents that have a block in one of the languages."""
    return [path for path in DOCUMENTS if any(b.language in languages for b in blocks(path))]


def name_of(path: Path) -> str:
    """A document's name below the checkout."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", with_blocks("python"), ids=name_of)
def test_python_prints_what_is_shown(document: Path, tmp_path: Path) -> None:
    marker = "- - - the next block - - -"
    program, expected = "", []
    found = blocks(document)
    for block, following in zip(found, [*found[1:], Block("", "")], strict=True):
        if block.language == "python":
            program += f"{block.text}\nprint({marker!r})\n"
            expected.append(following.text if following.language == "text" else "")
    result = run(sys.executable, "-c", program, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    printed = result.stdout.split(f"{marker}\n")[:-1]
    assert len(printed) == len(expected) > 0
    for output, shown in zip(printed, expected, strict=True):
        if shown:
            assert pattern_of(shown).fullmatch(output), f"printed:\n{output}\nshown:\n{shown}"
        else:
            assert output == ""


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, with what is shown below each."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.M)
    assert parts[0] == "", "a console block begins with a command"
    return list(zip(parts[1::2], parts[2::2], strict=True))


CONSOLE = [
    pytest.param(command, shown, id=f"{name_of(path)}: {command}")
    for path in with_blocks("console")
    for block in blocks(path)
    if block.language == "console"
    for command, shown in commands(block.text)
]


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_a_command_prints_what_is_shown(command: str, shown: str) -> None:
    result = run("bash", "-c", command, cwd=ROOT, merged=True)
    assert result.returncode == 0, result.stdout
    assert pattern_of(shown).fullmatch(result.stdout), f"printed:\n{result.stdout}\nshown:\n{shown}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_block_is_one_that_these_tests_know(document: Path) -> None:
    text = document.read_text()
    assert text.count("```") % 2 == 0
    for block in blocks(document):
        known = ("python", "text", "console", "sh", *SHOWN_ONLY)
        assert block.language in known, f"nothing runs a block of {block.language!r}"
        if block.language == "sh":  # would run these tests again
            for line in block.text.splitlines():
                assert MAKE.search(line), f"{line!r} is run by nothing: make it a console block"


def targets() -> set[str]:
    """What make can make by name."""
    files = [ROOT / "Makefile", *ROOT.glob("mk/*.mk"), *ROOT.glob("**/module.mk")]
    found: set[str] = set()
    for file in files:
        for line in re.findall(r"^\.PHONY: (.+)$", file.read_text(), flags=re.M):
            found.update(line.split())
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_what_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    outside = FENCE.sub("", text)
    missing = [link for link in LINK.findall(outside) if not exists(document.parent, link)]
    # A path in a code span may leave out the folders that it is in.
    files = ["/" + name for name in FILES]
    for span in CODE.findall(outside):
        is_path = re.fullmatch(r"[a-z_][\w.-]*/[\w./-]*", span)
        if is_path and not is_made(span) and not any(f"/{span}" in name for name in files):
            missing.append(span)
    known = targets()
    missing += [f"make {name}" for _, name in MAKE.findall(text) if name not in known]
    assert missing == []


def exists(folder: Path, link: str) -> bool:
    """Whether a link leads somewhere; those into the net are not followed."""
    return link.startswith(("http:", "https:")) or (folder / link).exists()


def is_made(path: str) -> bool:
    """Whether something is made by building, or is a part of an installation."""
    return path.startswith(("build/", "kernrig/_bin"))
