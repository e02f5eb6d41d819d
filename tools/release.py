"""Check that a commit may be published: tag, changelog, package and built files name the same version.

python tools/release.py dist
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def faults(version: str, changelog: str, tags: list[str], files: list[str], changes: str) -> list[str]:
    """Return what speaks against publishing this version; nothing if all is well."""
    found = []
    first = re.search(r"^## \[(\S+)\](?: - (.+))?$", changelog, re.MULTILINE)
    if first is None or first[1] != version:
        found.append(f"CHANGELOG.md begins with {first[1] if first else 'no version'}, the package is {version}")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", first[2] or ""):
        found.append(f"CHANGELOG.md has {first[2]!r} for a date of {version}; write the day")
    if f"v{version}" not in tags:
        found.append(f"this commit has no tag v{version}; git tag v{version}")
    wanted = {f"marginwise-{version}.tar.gz", f"marginwise-{version}-py3-none-any.whl"}
    if set(files) != wanted:
        found.append(f"built were {', '.join(sorted(files)) or 'no files'}; expected {', '.join(sorted(wanted))}")
    if changes:
        found.append(f"files differ from the commit:\n{changes}")
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main(folder: str) -> int:
    """Print what is wrong, and return an exit code."""
    source = ROOT.joinpath("src/marginwise/__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert match is not None
    found = faults(
        match[1],
        ROOT.joinpath("CHANGELOG.md").read_text(encoding="utf-8"),
        _git("tag", "--points-at", "HEAD").split(),
        [path.name for path in Path(folder).iterdir()],
        _git("status", "--porcelain"),
    )
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print(f"marginwise {match[1]} may be published: twine upload {folder}/*")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
