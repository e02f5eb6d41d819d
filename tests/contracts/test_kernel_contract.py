"""What every kernel promises: those of the library, their sums, and one that a user wrote."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from differences import differences
from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, Kernel, Laplacian, Linear, Precomputed
from peak_memory import peak_memory
from periodic import Periodic

N, D = 12, 3
X = np.random.default_rng(0).normal(size=(N, D))
OTHERS = np.random.default_rng(1).normal(size=(7, D))
SCALES = (0.7, 1.5, 3.0)
MATRIX = X @ X.T + np.eye(N)

SINGLE = {
    "rbf": RBF(1.7, 1.2),
    "rbf per input": RBF(1.7, SCALES),
    "laplacian": Laplacian(0.8, 2.0),
    "laplacian per input": Laplacian(0.8, SCALES),
    "linear": Linear(0.6),
    "additive": AdditiveLaplacian(0.6, 2.0),
    "additive per input": AdditiveLaplacian(0.6, 2.0, SCALES),
    "constant": Constant(0.3),
    "periodic": Periodic(1.3, 2.5, 1.1),
    "periodic per input": Periodic(1.3, 2.5, SCALES),
}
SUMS = {
    "rbf + constant": RBF(1.7, SCALES) + Constant(0.3),
    "constant + rbf": Constant(0.3) + RBF(1.7, 1.2),
    "linear + constant": Linear(0.6) + Constant(0.3),
    "rbf + rbf": RBF(1.7, 1.2) + RBF(0.4, 3.0),
    "rbf + laplacian": RBF(1.7, SCALES) + Laplacian(0.8, 2.0),
    "laplacian + linear + rbf": Laplacian(0.8, 2.0) + Linear(0.6) + RBF(1.7, 1.2),
    "rbf + laplacian + linear + constant": RBF(1.7, 1.2) + Laplacian(0.8, 2.0) + Linear(0.6) + Constant(0.3),
    "the same per input": RBF(1.7, SCALES) + Laplacian(0.8, SCALES[::-1]) + Linear(0.6) + Constant(0.3),
    "rbf + additive": RBF(1.7, SCALES) + AdditiveLaplacian(0.6, 2.0, SCALES[::-1]),
    "periodic + rbf + constant": Periodic(1.3, 2.5, SCALES) + RBF(1.7, SCALES) + Constant(0.3),
}
#: Kernels of three inputs; that of a given matrix has the numbers of its rows in the place of inputs.
BLENDS = {
    "blend": Blend(1.2, 0.2, 0.4, 0.5, 2.5, 1.5),
    "blend per input": Blend(1.2, 0.2, 0.4, 0.5, 2.5, (0.5, 1.0, 2.0)),
    "blend without steps": Blend(1.2, 0.2, 0.4, 0.0, 2.5, (0.5, 1.0, 2.0)),
    "blend with additive steps": Blend(1.2, 0.2, 0.4, 0.5, 2.5, (0.5, 1.0, 2.0), k2=0.7, lam2=1.5),
    "the same, one length scale": Blend(1.2, 0.2, 0.4, 0.5, 2.5, 1.5, k2=0.7, lam2=1.5),
    "additive steps without curves": Blend(0.0, 0.2, 0.4, 0.0, 1.0, (0.5, 1.0, 2.0), k2=0.7, lam2=1.5),
}
#: Three inputs of two columns.
TIES = (1, 0, 1)
TIED = {
    "rbf tied": RBF(1.7, (0.7, 1.5)).tied(TIES),
    "laplacian tied": Laplacian(0.8, (0.7, 1.5)).tied(TIES),
    "linear tied": Linear(0.6, (0.7, 1.5)).tied(TIES),
    "one length scale tied": (RBF(1.7, 1.2) + Linear(0.6) + Constant(0.3)).tied(TIES),
    "additive tied": AdditiveLaplacian(0.6, 2.0, (0.7, 1.5)).tied(TIES),
    "blend tied": Blend(1.2, 0.2, 0.4, 0.5, 2.5, (0.5, 2.0), k2=0.7, lam2=1.5).tied(TIES),
}
KERNELS = SINGLE | SUMS | BLENDS | TIED
EVERY = KERNELS | {"precomputed": Precomputed(MATRIX)}

every = pytest.mark.parametrize("kernel", EVERY.values(), ids=EVERY)
untied = pytest.mark.parametrize("kernel", (SINGLE | SUMS | BLENDS).values(), ids=SINGLE | SUMS | BLENDS)
with_inputs = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def inputs(kernel: Kernel) -> np.ndarray:
    return np.arange(float(N))[:, None] if isinstance(kernel, Precomputed) else X


def others(kernel: Kernel) -> np.ndarray:
    return inputs(kernel)[:5] if isinstance(kernel, Precomputed) else OTHERS


def at(kernel: Kernel, logs: np.ndarray) -> Kernel:
    return kernel.with_values(np.exp(logs))


@every
def test_gram_is_symmetric_and_positive_semidefinite(kernel: Kernel) -> None:
    K = kernel.gram(inputs(kernel))
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-13 * np.trace(K)


@every
def test_covariances_do_not_depend_on_the_other_points(kernel: Kernel) -> None:
    A, B = others(kernel), inputs(kernel)
    K = kernel.cross(A, B)
    assert K.shape == (len(A), len(B))
    np.testing.assert_allclose(kernel.cross(B, A), K.T, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(kernel.cross(A[2:4], B[:6]), K[2:4, :6], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(kernel.cross(B, B), kernel.gram(B), rtol=1e-13, atol=1e-15)
    assert kernel.cross(A, B[:0]).shape == (len(A), 0)


@every
def test_covariances_with_points_that_stay_are_the_same(kernel: Kernel) -> None:
    A, B = others(kernel), inputs(kernel)
    with_points = kernel.with_points(B)
    for rows in (A, A[:1], A[:0]):
        np.testing.assert_array_equal(with_points(rows), kernel.cross(rows, B))


@every
def test_diagonal_is_that_of_the_matrix(kernel: Kernel) -> None:
    Z = inputs(kernel)
    np.testing.assert_allclose(kernel.diagonal(Z), kernel.gram(Z).diagonal(), rtol=1e-14)
    assert kernel.diagonal(Z[:0]).shape == (0,)


@every
def test_arguments_are_not_changed(kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = others(kernel).copy(), inputs(kernel).copy()
    K, G = kernel.cross(A, B), rng.normal(size=(len(A), len(B)))
    before = [array.copy() for array in (A, B, K, G)]
    kernel.contract(G, K, A, B)
    kernel.peel(G, K, A, B)
    kernel.contract_diagonal(G[0], B)
    for array, copy in zip((A, B, K, G), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@with_inputs
def test_columns_make_up_each_term(kernel: Kernel) -> None:
    for term in kernel.terms:
        if term.composition is None:
            continue  # nothing is said
        columns = range(kernel.n_columns(X.shape[1]))
        parts = [term.of_column(column, X, OTHERS) for column in columns]
        if term.composition == "product":
            whole = np.prod(parts, axis=0) * term.diagonal(X)[0]
            assert all((part > 0.0).all() and (part <= 1.0).all() for part in parts)
        else:
            whole = np.sum(parts, axis=0) + term.offset
        np.testing.assert_allclose(whole, term.cross(X, OTHERS), rtol=1e-12, atol=1e-14)


@every
def test_contraction_is_the_derivative(kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = others(kernel), inputs(kernel)
    for left in (A, B):
        G = rng.normal(size=(len(left), len(B)))

        def value(logs: np.ndarray, left: np.ndarray = left, G: np.ndarray = G) -> float:
            return float(np.vdot(G, at(kernel, logs).cross(left, B)))

        ours = kernel.contract(G, kernel.cross(left, B), left, B)
        assert ours.shape == kernel.values.shape
        np.testing.assert_allclose(ours, differences(value, np.log(kernel.values), 1e-5), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(kernel.contract_anew(G, left, B), ours, rtol=1e-9, atol=1e-12)


@every
def test_contraction_of_the_diagonal_is_the_derivative(kernel: Kernel, rng: np.random.Generator) -> None:
    Z = np.tile(inputs(kernel), (8, 1))  # more rows than are taken at a time
    g = rng.normal(size=len(Z))

    def value(logs: np.ndarray) -> float:
        return float(g @ at(kernel, logs).diagonal(Z))

    ours = kernel.contract_diagonal(g, Z)
    assert ours.shape == kernel.values.shape
    np.testing.assert_allclose(ours, differences(value, np.log(kernel.values), 1e-5), rtol=1e-7, atol=1e-8)


@with_inputs
def test_slopes_are_derivatives_in_the_inputs(kernel: Kernel, rng: np.random.Generator) -> None:
    c = rng.normal(size=N)
    ours = kernel.slopes(OTHERS, X, c)
    assert ours.shape == OTHERS.shape
    for x, slope in zip(OTHERS, ours, strict=True):
        expected = differences(lambda z: (kernel.cross(z[None], X) @ c).item(), x, 1e-5)
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


@every
def test_its_own_values_make_the_same_kernel(kernel: Kernel) -> None:
    again = kernel.with_values(kernel.values)
    assert type(again) is type(kernel)
    assert again == kernel
    np.testing.assert_array_equal(again.gram(inputs(kernel)), kernel.gram(inputs(kernel)))


@every
def test_other_values_are_those_asked_for(kernel: Kernel, rng: np.random.Generator) -> None:
    values, before = kernel.values * np.exp(0.3 * rng.normal(size=len(kernel.values))), kernel.values
    other = kernel.with_values(values)
    np.testing.assert_array_equal(other.values, values)
    np.testing.assert_array_equal(kernel.values, before)
    assert other.names == kernel.names


@untied
def test_one_for_each_input_written_out(kernel: Kernel, rng: np.random.Generator) -> None:
    each = kernel.for_inputs(D)
    np.testing.assert_allclose(each.gram(X), kernel.gram(X), rtol=1e-14)
    assert all(len(group) == D for group in each.groups)
    assert each.for_inputs(D) == each
    G = rng.normal(size=(N, N))
    ours, parts = (one.contract(G, kernel.gram(X), X, X) for one in (kernel, each))
    for mine, written_out in zip(kernel.groups, each.groups, strict=True):
        if len(mine) == 1:
            assert ours[mine[0]] == pytest.approx(parts[written_out].sum(), rel=1e-10)


@untied
def test_values_for_another_number_of_inputs_are_refused(kernel: Kernel) -> None:
    if kernel.is_isotropic:
        kernel.check_inputs(5)
        return
    for refusing in (kernel.check_inputs, kernel.for_inputs, lambda d: kernel.gram(np.ones((4, d)))):
        with pytest.raises(InvalidInputError, match="because X has 5 columns"):
            refusing(5)


@every
def test_names_bounds_and_laws(kernel: Kernel) -> None:
    k = len(kernel.values)
    assert len(set(kernel.names)) == len(kernel.names) == k
    (lower, upper), (low, high) = kernel.bounds, kernel.start_ranges
    assert lower.shape == upper.shape == low.shape == high.shape == (k,)
    assert (lower < kernel.values).all()
    assert (kernel.values < upper).all()
    assert (np.log(lower) <= low).all()
    assert (low < high).all()
    assert (high <= np.log(upper)).all()
    for h in kernel.hyperparameters:
        mean, deviation = h.prior_for(D)
        assert np.log(h.bounds[0]) < mean < np.log(h.bounds[1])
        assert deviation > 0


@every
def test_those_that_stand_alone_come_first(kernel: Kernel) -> None:
    shared = [h.per_input for h in kernel.hyperparameters]
    assert shared == sorted(shared)
    assert all(len(h.values) == 1 for h in kernel.hyperparameters if not h.per_input)
    together = np.concatenate([*kernel.groups, []])
    np.testing.assert_array_equal(together, np.arange(len(kernel.values) - len(together), len(kernel.values)))


@every
def test_amplitude_is_a_factor(kernel: Kernel) -> None:
    if kernel.has_amplitude:
        values = kernel.values
        values[0] *= 3.0
        np.testing.assert_allclose(kernel.with_values(values).gram(X), 3.0 * kernel.gram(X), rtol=1e-14)


@every
def test_survives_a_copy(kernel: Kernel) -> None:
    again = pickle.loads(pickle.dumps(kernel))
    assert again.names == kernel.names
    np.testing.assert_array_equal(again.values, kernel.values)
    np.testing.assert_array_equal(again.gram(inputs(kernel)), kernel.gram(inputs(kernel)))


@every
def test_terms_of_a_sum(kernel: Kernel, rng: np.random.Generator) -> None:
    """Added to a matrix and taken off again, with the derivatives of what was added."""
    A, B = others(kernel), inputs(kernel)
    (rest, G), own = rng.normal(size=(2, len(A), len(B))), kernel.cross(A, B)
    K = rest.copy()
    kernel.add_to(K, A, B)
    np.testing.assert_allclose(K, rest + own, rtol=1e-14)
    gradient, left = kernel.peel(G, K, A, B)
    np.testing.assert_allclose(left, rest, atol=1e-13)
    np.testing.assert_allclose(gradient, kernel.contract(G, own, A, B), rtol=1e-12)
    np.testing.assert_allclose(sum(term.cross(A, B) for term in kernel.terms), own, rtol=1e-13, atol=1e-15)


@every
def test_offset_is_a_part_that_all_pairs_share(kernel: Kernel) -> None:
    K = kernel.gram(inputs(kernel)) - kernel.offset
    assert kernel.offset >= 0
    assert np.linalg.eigvalsh(K)[0] >= -1e-13 * max(1.0, np.trace(K))
    if any(isinstance(term, Constant) for term in kernel.terms):
        assert kernel.offset > 0


@with_inputs
def test_lengths_are_positive(kernel: Kernel) -> None:
    lengths = kernel.lengths(D)
    assert lengths.shape == (D,)
    assert (lengths > 0).all()


@untied
def test_no_array_of_all_differences(kernel: Kernel, rng: np.random.Generator) -> None:
    """n² d numbers would take 3.2 MB; a few n² and n d are allowed for each term, 80 kB and 32 kB each."""
    n, d = 100, 40
    Z, G = rng.normal(size=(n, d)), np.ones((n, n))
    alone = kernel.values[: len(kernel.values) - sum(map(len, kernel.groups))]
    wide = kernel.with_values(np.concatenate([alone, np.full(d * len(kernel.groups), 12.0)]))
    K, g = wide.gram(Z), np.ones(n)
    allowed = len(kernel.terms) * 8 * (6 * n * n + 4 * n * d)
    assert allowed < 8 * n * n * d
    assert peak_memory(lambda: wide.gram(Z)) < allowed
    assert peak_memory(lambda: wide.contract(G, K, Z, Z)) < allowed
    assert peak_memory(lambda: wide.contract_diagonal(g, Z)) < allowed
    assert peak_memory(lambda: wide.slopes(Z, Z, g)) < allowed


def test_values_that_belong_to_no_term_are_refused() -> None:
    kernel = RBF(1.0, 1.0) + Laplacian(1.0, 1.0)
    with pytest.raises(InvalidInputError, match="values"):
        kernel.with_values(np.ones(5))  # 2 amplitudes, and 3 length scales for two terms
    with pytest.raises(InvalidInputError, match="values"):
        (Constant() + Constant()).with_values(np.ones(3))


def test_a_name_that_occurs_again_gets_a_number() -> None:
    assert SUMS["rbf + rbf"].names == ("k0", "k02", "l", "l2")
    assert (RBF(1.0, SCALES) + RBF(1.0, SCALES)).names[2:] == ("l_1", "l_2", "l_3", "l2_1", "l2_2", "l2_3")


def test_only_kernels_can_be_added() -> None:
    with pytest.raises(TypeError):
        RBF() + 1.0  # type: ignore[operator]
    assert (RBF() + (Linear() + Constant())) == (RBF() + Linear() + Constant())
