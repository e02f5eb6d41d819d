"""A study on a real Dask cluster, one of whose workers is killed half-way."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.study import Plan, benchmarks, open_store
from marginwise.study.paper import methods
from marginwise.study.runner import run_study
from toy_study import SMALL, table

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install marginwise[dask]")

PLAN = Plan("cluster", benchmarks("crabs", "pima"), methods("span-walk", "le1-newton"), trials=4, effort=SMALL)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(tmp_path):
    url, summaries = f"sqlite:///{tmp_path / 'dask.sqlite'}", []
    with (
        open_store(f"sqlite:///{tmp_path / 'here.sqlite'}") as here,
        open_store(url) as store,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
    ):
        study = threading.Thread(
            target=lambda: summaries.append(run_study(PLAN, url, backend="dask", scheduler=cluster.scheduler_address))
        )
        study.start()
        while len(store.rows()) < 2 and study.is_alive():
            time.sleep(0.01)
        killed = next(iter(cluster.workers.values())).pid
        os.kill(killed, signal.SIGKILL)
        left = len(PLAN.enumerate()) - len(store.rows())
        run_study(PLAN, here, n_jobs=1)
        study.join(timeout=300)
        assert left > 4  # it was killed half-way
        assert summaries[0].complete
        assert summaries[0].run == len(PLAN.enumerate())
        assert table(store) == table(here)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_named(tmp_path):
    url = f"sqlite:///{tmp_path / 'dask.sqlite'}"
    with pytest.raises(InvalidInputError, match="the address of a Dask scheduler"):
        run_study(PLAN, url, backend="dask")
    with pytest.raises(MarginwiseError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        run_study(PLAN, url, backend="dask", scheduler="tcp://127.0.0.1:9")
