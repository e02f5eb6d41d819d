"""What `make release` refuses."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("release", Path(__file__).parent.parent / "tools" / "release.py")
assert SPEC is not None
assert SPEC.loader is not None
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

FILES = ["marginwise-1.2.0.tar.gz", "marginwise-1.2.0-py3-none-any.whl"]
CHANGELOG = "# Changelog\n\n## [1.2.0] - 2030-01-31\n\n### Added\n\n- More.\n\n## [1.1.0] - 2029-01-31\n"


def test_takes_what_agrees() -> None:
    assert release.faults("1.2.0", CHANGELOG, ["v1.2.0"], FILES, "") == []


def test_names_each_fault() -> None:
    unreleased = CHANGELOG.replace("2030-01-31", "unreleased")
    faults = release.faults("1.2.0", unreleased, ["v1.1.0"], FILES[:1], " M README.md")
    words = ("'unreleased' for a date", "no tag v1.2.0", "built were", "differ from the commit")
    assert len(faults) == len(words)
    assert all(word in fault for word, fault in zip(words, faults, strict=True))
    (fault,) = release.faults("1.3.0", CHANGELOG, ["v1.3.0"], [name.replace("1.2", "1.3") for name in FILES], "")
    assert fault == "CHANGELOG.md begins with 1.2.0, the package is 1.3.0"


def test_refuses_changes_without_a_version() -> None:
    (fault,) = release.faults("1.2.0", f"## [Unreleased]\n\n- More.\n\n{CHANGELOG}", ["v1.2.0"], FILES, "")
    assert fault == "CHANGELOG.md begins with Unreleased, the package is 1.2.0"


def test_the_citation_names_the_version_of_the_package() -> None:
    import marginwise

    citation = (Path(__file__).parent.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {marginwise.__version__}\n" in citation
