"""A model file as a service: JSON in, probabilities out, over HTTP, with nothing but Python's own server.

    python service.py model.skops --port 8000
    curl localhost:8000/predict -d '{"rows": [{"width": 1.5, "colour": "red"}]}'

The model is one that was fitted on a data frame. What it does not know, it does not answer: rows that are like no
training row are refused. Bad input is answered with 400 and what was wrong with it. SIGTERM ends the service when the
requests that have come are answered.
"""

import argparse
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd

from marginwise import load_model

#: Bytes of a request, and rows in it.
MOST_BYTES, MOST_ROWS = 2**20, 1000


class RefusedError(Exception):
    """A request that is not answered: its status, and why."""


class Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close waits for requests under way

    def __init__(self, address, model):
        super().__init__(address, Handler)
        self.model = model


class Handler(BaseHTTPRequestHandler):
    timeout = 10.0  # seconds that a client may take to send what it has announced

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "ready", "columns": list(self.server.model.feature_names_in_)})
        else:
            self.answer(404, {"error": "there are GET /health and POST /predict"})

    def do_POST(self):
        try:
            if self.path != "/predict":
                raise RefusedError(404, "there are GET /health and POST /predict")
            self.answer(200, {"predictions": predictions(self.server.model, self.rows())})
        except RefusedError as refused:
            self.answer(refused.args[0], {"error": refused.args[1]})
        except ValueError as error:  # of the model: it says which column is wrong, and what was expected
            self.answer(400, {"error": str(error)})

    def rows(self):
        """Return the rows of a request: a list of objects."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal():
            raise RefusedError(411, "the header Content-Length is missing")
        if int(size) > MOST_BYTES:
            raise RefusedError(413, f"the request has {size} bytes; at most {MOST_BYTES} are read")
        try:
            content = json.loads(self.rfile.read(int(size)))
        except ValueError as error:
            raise RefusedError(400, f"the request is not JSON: {error}") from None
        rows = content.get("rows") if isinstance(content, dict) else None
        if not (isinstance(rows, list) and 0 < len(rows) <= MOST_ROWS and all(isinstance(row, dict) for row in rows)):
            raise RefusedError(400, f'expected {{"rows": [{{"column": value, …}}, …]}} with 1 to {MOST_ROWS} rows')
        return rows

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def predictions(model, rows):
    """Return what the model says of each row; of strangers, that it says nothing."""
    names = list(model.feature_names_in_)
    for number, row in enumerate(rows):
        missing, unknown = sorted(set(names) - set(row)), sorted(set(row) - set(names))
        if missing or unknown:  # an empty cell is null; a column that is left out may be a typing error
            raise RefusedError(400, f"row {number}: missing columns {missing}, unknown columns {unknown}")
    table = pd.DataFrame(rows, columns=names)
    novelty, proba = model.novelty(table), model.predict_proba(table)
    answers = []
    for share, strange, row in zip(novelty.share.tolist(), novelty.strange.tolist(), proba, strict=True):
        named = {"label": None, "refused": "like no training row"}
        if not strange:
            probabilities = dict(zip(map(str, model.classes_), row.round(6).tolist(), strict=True))
            named = {"label": str(model.classes_[row.argmax()]), "probabilities": probabilities}
        answers.append({**named, "novelty": round(share, 4)})
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    predictions(model, [dict.fromkeys(model.feature_names_in_)])  # the first prediction takes longer than others
    server = Server(("localhost", arguments.port), model)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()
    server.server_close()
    print("all requests are answered", flush=True)


if __name__ == "__main__":
    main()
