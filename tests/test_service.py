"""The service of the documentation: a process of its own, asked over HTTP."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from marginwise import TunedSVC, save_model

SERVICE = Path(__file__).parent.parent / "docs" / "service.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to answer")


@pytest.fixture(scope="module")
def model() -> TunedSVC:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"width": rng.normal(size=80), "colour": rng.choice(["red", "blue"], size=80)})
    return TunedSVC(0.0, random_state=0).fit(
        table, np.where(table["width"] + (table["colour"] == "red") > 0.5, "in", "out")
    )


def started(model: TunedSVC, folder: Path) -> tuple[subprocess.Popen[str], int]:
    save_model(model, folder / "model.skops")
    command = [sys.executable, str(SERVICE), str(folder / "model.skops"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on port "), process.communicate(timeout=30)[1]
    return process, int(line.split()[-1])


@pytest.fixture(scope="module")
def port(model: TunedSVC, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    process, number = started(model, tmp_path_factory.mktemp("service"))
    yield number
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=60)
    assert (process.returncode, printed) == (0, "all requests are answered\n")


def ask(port: int, body: Any, path: str = "/predict", method: str = "POST", size: int | None = None) -> tuple[int, Any]:
    """Return status and content of the answer to a request, which may announce another size than it has."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with closing(http.client.HTTPConnection("localhost", port, timeout=30)) as connection:
        connection.request(method, path, content, {"Content-Length": str(len(content) if size is None else size)})
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read())


def test_probabilities_are_those_of_the_model(model: TunedSVC, port: int) -> None:
    rows = [{"width": 1.0, "colour": "red"}, {"colour": "blue", "width": -0.5}, {"width": None, "colour": "red"}]
    status, found = ask(port, {"rows": rows})
    assert status == 200
    table = pd.DataFrame(rows, columns=["width", "colour"])
    proba = model.predict_proba(table)
    for answer, expected, label in zip(found["predictions"], proba, model.predict(table), strict=True):
        assert answer["label"] == label
        np.testing.assert_allclose(list(answer["probabilities"].values()), expected, atol=1e-6)
        assert list(answer["probabilities"]) == ["in", "out"]


def test_strangers_are_refused(port: int) -> None:
    _, found = ask(port, {"rows": [{"width": 60.0, "colour": "red"}, {"width": 0.0, "colour": "red"}]})
    strange, known = found["predictions"]
    assert (strange["label"], strange["refused"]) == (None, "like no training row")
    assert "probabilities" not in strange
    assert known["label"] in ("in", "out")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        ([1, 2], 400, "expected"),
        ({"rows": []}, 400, "1 to 1000 rows"),
        ({"rows": [{"width": 1.0}]}, 400, "row 0: missing columns ['colour']"),
        ({"rows": [{"width": 1.0, "colour": "red", "age": 3}]}, 400, "unknown columns ['age']"),
        ({"rows": [{"width": "wide", "colour": "red"}]}, 400, "holds words ('wide')"),
    ],
    ids=["no json", "no rows", "empty", "missing column", "unknown column", "words"],
)
def test_what_is_wrong_is_said(port: int, body: Any, status: int, message: str) -> None:
    found, content = ask(port, body)
    assert found == status
    assert message in content["error"]


def test_what_is_too_long_is_not_read(port: int) -> None:
    status, content = ask(port, b"", size=2**20 + 1)
    assert (status, "at most 1048576" in content["error"]) == (413, True)


def test_other_paths(port: int) -> None:
    assert ask(port, b"", "/health", "GET") == (200, {"status": "ready", "columns": ["width", "colour"]})
    assert ask(port, b"", "/", "GET")[0] == 404
    assert ask(port, b"{}", "/elsewhere")[0] == 404


def test_many_at_once(port: int) -> None:
    row = {"rows": [{"width": 0.3, "colour": "blue"}]}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ask(port, row), range(32)))
    assert all(one == found[0] for one in found)
    assert found[0][0] == 200


@pytest.mark.slow
def test_requests_under_way_are_answered_before_the_end(model: TunedSVC, tmp_path: Path) -> None:
    process, port = started(model, tmp_path)
    body = json.dumps({"rows": [{"width": 0.3, "colour": "blue"}]}).encode()
    connection = http.client.HTTPConnection("localhost", port, timeout=30)
    connection.putrequest("POST", "/predict")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    time.sleep(0.3)  # the request has come, but for its body
    process.send_signal(signal.SIGTERM)
    threading.Timer(0.5, lambda: connection.send(body)).start()
    with closing(connection), connection.getresponse() as answer:
        assert answer.status == 200
    printed, _ = process.communicate(timeout=30)
    assert (process.returncode, printed) == (0, "all requests are answered\n")
