#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of the code: what neither compiler nor formatter sees.

Each rule gives the sentence that it enforces. Include paths keep our own folders apart, in
mk/layers.mk; here system headers are kept to the folders that may use them, files are kept short,
and what must not be in a repository is kept out of it. Exits with 1 and a line per finding.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# header pattern, folders that may include it, why
SYSTEM_HEADERS = [
    ("grpc/*", ["server/daemon/rpc", "tests"], "gRPC's core breaks between versions: one folder"),
    ("protobuf-c/*", ["server/daemon/rpc"], "generated messages stay in rpc"),
    ("*.pb-c.h", ["server/daemon/rpc"], "generated messages stay in rpc"),
    ("uv.h", ["server/daemon/loop"], "libuv is reached through loop/loop.h"),
    ("dlfcn.h", ["server/worker"], "the only dlopen is in the runner"),
    (
        "sys/mman.h",
        ["server/worker", "server/daemon/buffers", "tests"],
        "the daemon makes memory and never maps it; the runner maps it",
    ),
    ("sys/ptrace.h", ["server/worker"], "ptrace and libuv never meet"),
    ("pthread.h", ["server/daemon/rpc", "tests"], "the loop's thread and gRPC's, and no other"),
    ("stdio.h", ["*"], ""),
]
# Kernels own nothing: no I/O, no allocation, no threads.
KERNEL_HEADERS = {
    *("float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h"),
    *("stdio.h", "string.h"),  # snprintf and memcpy; nothing that prints or reads
}
KERNEL_CALLS = re.compile(
    r"\b(printf|fprintf|puts|fopen|malloc|calloc|realloc|free|pthread_\w+)\s*\("
)

MAX_LINES = 600
CODE = re.compile(r"\.(c|h|py|sh|mk|def|proto|map)$|(^|/)Makefile$")
TEXT = re.compile(r"\.(md|txt|toml|yml|json)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(^|[\s\"'=(`])(/root/|/work/)")


def tracked() -> list[str]:
    """Every file that git tracks or would."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in output.splitlines() if Path(name).is_file()]


def check_includes(name: str, text: str) -> Iterator[str]:
    """Includes of a C file."""
    folder = str(Path(name).parent)
    for header in INCLUDE.findall(text):
        if ".." in header:
            yield f'"{header}" climbs out of the layer: name the folder, as in "wire/frame.h"'
        for pattern, allowed, why in SYSTEM_HEADERS:
            if fnmatch.fnmatch(header, pattern) and not any(
                fnmatch.fnmatch(folder, a) or folder.startswith(a + "/") or folder == a
                for a in allowed
            ):
                yield f"<{header}> belongs to {', '.join(allowed)}: {why}"
        in_kernels = folder in ("kernels/portable", "kernels/support", "kernels/optimized")
        own = header.startswith("kernrig/") or Path(folder, header).exists()
        own = own or Path("kernels/support", header).exists()
        if in_kernels and not own and header not in KERNEL_HEADERS:
            yield f"<{header}>: a kernel owns nothing, see kernels/include/kernrig/kernel.h"
    if folder.startswith("kernels/") and (call := KERNEL_CALLS.search(text)):
        yield f"{call[1]}(): a kernel owns nothing, see kernels/include/kernrig/kernel.h"


def check_text(name: str, text: str) -> Iterator[str]:
    """What holds for every text file."""
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        yield "no newline at the end"
    if CODE.search(name) and len(lines) > MAX_LINES:
        yield f"{len(lines)} lines; over {MAX_LINES} a file is asking to be split"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"line {number}: trailing blanks"
        if "\t" in line and not re.search(r"(\.mk|Makefile|operators\.txt)$", name):
            yield f"line {number}: a tab"
        if MACHINE_PATH.search(line) and not name.startswith("tests/lint/"):
            yield f"line {number}: names a path of a machine"
        if UNFINISHED.search(line) and not name.startswith("tests/lint/"):
            yield f"line {number}: unfinished work has no place here"
    if re.search(r"\.(c|h|py|sh|proto)$", name):
        head = "\n".join(lines[:3])
        if lines and "SPDX-License-Identifier: Apache-2.0" not in head:
            yield "no SPDX line at the top"


def check_generated(names: list[str]) -> Iterator[str]:
    """Nothing generated is committed."""
    for name in names:
        if re.search(r"(\.pb-c\.[ch]|_pb2\.pyi?|\.o|\.a|\.so|\.pyc)$", name):
            yield f"{name}: generated files are not committed"


def check_mirror(names: list[str]) -> Iterator[str]:
    """Unit tests mirror the sources that they test."""
    sources = set(names)
    for name in names:
        match = re.fullmatch(r"tests/unit/(.*)/test_(\w+)\.c", name)
        if not match:
            continue
        folder, module = match.groups()
        # test_match_model.c is a second look at match.c.
        words = module.split("_")
        modules = ["_".join(words[:n]) for n in range(len(words), 0, -1)]
        folders = [f"{folder}/src", folder]
        if folder.startswith("server/"):
            folders.append(f"server/daemon/{folder[7:]}")
        if not any(f"{f}/{m}.c" in sources for f in folders for m in modules):
            yield f"{name}: there is no {module}.c in {' or '.join(folders)} that it tests"


def main() -> int:
    names = tracked()
    findings = list(check_generated(names)) + list(check_mirror(names))
    for name in names:
        if not (CODE.search(name) or TEXT.search(name)):
            continue
        text = Path(name).read_text(encoding="utf-8")
        rows = list(check_text(name, text))
        if re.search(r"\.[ch]$", name):
            rows += check_includes(name, text)
        findings += [f"{name}: {row}" for row in rows]
    for finding in findings:
        print(finding)
    print(f"{len(names)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
