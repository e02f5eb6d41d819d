"""Data with known noise, and the cost of a sampled gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.study import Effort, Trial, TrialRow
from marginwise.study.paper import tables, variations
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.probes import FLIPPED, GRADIENTS, NOISE_DRAWS, ROWS, KnownNoise, SampledGradient
from marginwise.study.paper.settings import MAXIMISED
from marginwise.study.paper.story import first_part
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows


def test_so_many_labels_are_wrong():
    clean, noisy = KnownNoise(300, 0.0, 1).load(), KnownNoise(300, 0.2, 1).load()
    np.testing.assert_array_equal(clean.X_train, noisy.X_train)
    assert np.mean(clean.y_test != noisy.y_test) == pytest.approx(0.2, abs=0.03)
    np.testing.assert_array_equal(clean.y_train, np.sign(clean.X_train.sum(axis=1)))  # a plane separates them
    assert len(KnownNoise(75).load().y_train) == 75


def test_a_sampled_gradient_is_timed_and_has_noise():
    data, effort = KnownNoise(40, 0.05).load(), Effort(hmc_steps=300)
    found = SampledGradient(1.0).run(data, Trial("rows-40", "any", 0), effort)
    assert found.extra["step_seconds"] > 0
    assert 0 < found.extra["noise"] < 1
    assert found.extra["zeros"] == 0.0
    longer = SampledGradient(1.0).run(data, Trial("rows-40", "any", 0), replace(effort, hmc_steps=6000))
    assert longer.extra["noise"] < found.extra["noise"]


def test_tables_show_where_the_evidence_is_greatest_and_what_gradients_cost():
    rows = [
        TrialRow(
            f"noise-{p:g}-{draw}", MAXIMISED, 0, 0, "done", test_error=p, hyperparameters=(1.0, 100 - 100 * p, 0.1)
        )
        for p in FLIPPED
        for draw in range(NOISE_DRAWS)
    ]
    extra = {"step_seconds": 2.0, "noise": 0.1, "zeros": 0.5}
    rows += [TrialRow(f"rows-{n}", name, 0, 0, "done", extra=extra) for n in ROWS for name in GRADIENTS]
    findings = Findings(Trials([*paper_rows(), *rows]))
    assert [row[1].value for row in tables.known_noise(findings).rows] == [100 - 100 * p for p in FLIPPED]
    assert variations.sampling_cost(findings).rows[0][1].detail == "noise 10%, all zero 50%"
    text = " ".join(part for section in first_part(findings) for part in section.parts if isinstance(part, str))
    assert "throughout: with 0%, 2%, 5%, 10%, 20% of labels flipped, the median k0 is 100, 98, 95, 90, 80" in text
    nothing = Findings(Trials([]))
    assert not tables.known_noise(nothing).rows
    assert not variations.sampling_cost(nothing).rows


def test_the_rise_is_told_apart():
    def told(plain: float, normalised: float) -> str:
        gains = {"ep-ascent": plain, "ep-ascent-normalised": normalised}
        rows = [
            replace(row, method=method, early_error=(row.test_error or 0.0) - (gain + 0.01 * row.number) / 100)
            for row in paper_rows()
            if row.method == "evidence-ascent"
            for method, gain in gains.items()
        ]
        sections = first_part(Findings(Trials([*paper_rows(), *rows])))
        return " ".join(part for section in sections for part in section.parts if isinstance(part, str))

    assert "The rise goes with the missing normalisation" in told(1.0, 0.0)
    assert "The rise is there with both models" in told(1.0, 1.0)
