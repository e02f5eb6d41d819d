"""Tables in files that were damaged or made to harm: fitted, or refused in one line; never a traceback."""

from __future__ import annotations

import contextlib
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from trials import damaged, pick, run_cases

from marginwise.cli import main

NAMES = ("age", "höhe", "=1+1", "a b", "x\x1b[31m", "<b>", "y'", '"', "", "y", "1", "-", "naïve\u202e", "\ufeffid")


STRANGE_CELLS = ("1e999", "-inf", "0x10", "1,5", "1_000", "\x00", "\x1b[2J", '"open', "=cmd|'/C'!A0", "é" * 999)

STRANGE_LINES = (
    *("1 999999999:1", "1 3:1 2:1", "1 -1:1", "nan 1:1", "1 1:inf", "1 1:", "1 99999999999999999999:1", "x 1:1"),
    *("1 60000000:1", "1 0:5", "# only words", "\x00"),
)


def csv_file(rng: np.random.Generator) -> bytes:
    """Return text with numbers and two classes, and something wrong with it."""
    delimiter, end = pick(rng, ",", ";", "\t", "|"), pick(rng, "\n", "\r\n", "\r")
    d, n = int(rng.integers(1, 5)), int(rng.integers(0, 30))
    names = [pick(rng, *NAMES) for _ in range(d)] if rng.random() < 0.5 else [f"c{j}" for j in range(d)]
    rows = [[f"{x:.4g}" for x in rng.normal(size=d)] + [pick(rng, "yes", "no")] for _ in range(n)]
    lines = [[*names, "target"], *rows]
    for _ in range(pick(rng, 0, 0, 1, 3)):
        row = lines[int(rng.integers(len(lines)))]
        place = int(rng.integers(len(row)))
        kind = pick(rng, "cell", "cell", "cell", "short", "long")
        if kind == "cell":
            row[place] = pick(rng, *STRANGE_CELLS)
        elif kind == "short":
            row.pop()
        else:
            row.append("1")
    text = end.join(delimiter.join(row) for row in lines) + pick(rng, "", end, end * 3)
    content = text.encode(pick(rng, "utf-8", "utf-8", "utf-16", "utf-8-sig", "cp1252"), errors="replace")
    return damaged(rng, content) if content and rng.random() < 0.3 else content


def libsvm_file(rng: np.random.Generator) -> bytes:
    lines = []
    for _ in range(int(rng.integers(1, 25))):
        indices = np.sort(rng.choice(np.arange(1, 6), int(rng.integers(0, 5)), replace=False))
        lines.append(" ".join([pick(rng, "+1", "-1"), *(f"{i}:{rng.normal():.3g}" for i in indices)]))
    if rng.random() < 0.6:
        lines.insert(int(rng.integers(len(lines) + 1)), pick(rng, *STRANGE_LINES))
    content = "\n".join(lines).encode()
    return damaged(rng, content) if rng.random() < 0.3 else content


def parquet_file(rng: np.random.Generator) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n = int(rng.integers(0, 30))
    columns = {
        "a": rng.normal(size=n),
        pick(rng, *NAMES[:8]): pick(rng, rng.integers(0, 2**62, n), np.full(n, np.nan), rng.normal(size=n)),
        "target": [pick(rng, "yes", "no") for _ in range(n)],
    }
    written = io.BytesIO()
    if rng.random() < 0.05:  # a few bytes that are a billion cells
        many = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(10**6, dtype=np.int8)), pyarrow.array([1.0]))
        parquet.write_table(pyarrow.table({f"c{j}": many for j in range(60)}), written)
        return written.getvalue()
    parquet.write_table(pyarrow.table(columns), written, compression=pick(rng, "none", "snappy", "gzip"))
    content = written.getvalue()
    return damaged(rng, content) if rng.random() < 0.8 else content


def gzip_file(rng: np.random.Generator) -> bytes:
    if rng.random() < 0.1:
        written = io.BytesIO()
        with gzip.GzipFile(fileobj=written, mode="wb", compresslevel=1) as file:
            for _ in range(2**9):
                file.write(bytes(2**20))
        return written.getvalue()
    content = gzip.compress(csv_file(rng))
    return damaged(rng, content) if rng.random() < 0.5 else content


KINDS = {".csv": csv_file, ".svm": libsvm_file, ".parquet": parquet_file, ".csv.gz": gzip_file}


def fitted_or_told(folder: Path, rng: np.random.Generator) -> str:
    ending = pick(rng, ".csv", ".csv", ".svm", ".parquet", ".parquet", ".csv.gz")
    path = folder / f"table{ending}"
    path.write_bytes(KINDS[ending](rng))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        words = ["fit", str(path), "--ard", "0", "--max-evaluations", "1", "--force"]
        files = ["-m", str(folder / "m.skops"), "-r", str(folder / "r.html")] if rng.random() < 0.1 else ["--no-files"]
        code = main([*words, *files])
    told = out.getvalue() + err.getvalue()
    assert "Traceback" not in told
    assert not any(ord(character) < 32 and character not in "\n\t" for character in told), told
    assert (code == 0) == bool(out.getvalue())
    if code:
        errors = [line for line in err.getvalue().splitlines() if not line.startswith("warning: ")]
        assert len(errors) == 1, errors
        assert errors[0].startswith("marginwise fit: error: ")
    return "fitted" if code == 0 else "told"


def load_libraries(folder: Path) -> None:
    """Fit a good table of each kind and write all files, so that the memory counted is not that of imports."""
    pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    text, rows = "a,target\n", (f"{k * k % 17},{'yes' if k % 3 else 'no'}\n" for k in range(30))
    tables = [folder / "good.csv", folder / "good.parquet"]
    tables[0].write_text(text + "".join(rows))
    parquet.write_table(csv.read_csv(tables[0]), tables[1])
    for table in tables:
        words = ["--ard", "0", "--max-evaluations", "1", "--force", "--quiet"]
        assert main(["fit", str(table), *words, "-m", str(folder / "m.skops"), "-r", str(folder / "r.html")]) == 0


@pytest.mark.slow
def test_hostile_files(tmp_path: Path, full: bool) -> None:
    load_libraries(tmp_path)
    found = run_cases(300 if full else 30, lambda rng: fitted_or_told(tmp_path, rng))
    assert found["fitted"] > 0.05 * found.total()
    assert found["told"] > 0.2 * found.total()
