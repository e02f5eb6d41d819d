"""Imports go one way: down the list of layers, read from the syntax trees."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import marginwise

PACKAGE = Path(marginwise.__file__).parent

#: From the ground up. A module may import from its own layer and from those above it in this list.
LAYERS = [
    "errors",
    "status",
    "_arrays",
    "_characters",
    "_runtime",
    "_summary",
    "_wording",
    "kernels",
    "shapley",
    "model",
    "hyperparameters",
    "priors",
    "likelihoods",
    "covariance",
    "row_hash",
    "multiplicity",
    "problem",
    "svm",
    "inference",
    "multiclass",
    "criteria",
    "search",
    "tuning",
    "fitting",
    "tables",
    "estimators",
    "saving",
    "inspection",
    "datasets",
    "display",
    "study",
    "plots",
    "reporting",
    "peers",
    "comparison",
    "demo",
    "warmup",
    "tabarena",
    "export",
    "cli",
    "__main__",
]

#: Search and criteria meet only in the contract; nothing below the estimators knows scikit-learn.
ONLY = {("search", "criteria"): {"marginwise.criteria.base"}, ("inference", "svm"): {"marginwise.svm.api"}}

#: What a method of an estimator asks of the layers above it when it is called, never when it is imported.
LATE = {"estimators/_describing.py": {"marginwise.reporting.summary", "marginwise.reporting.fit_report"}}

#: Modules in the longest chain of imports.
LONGEST_CHAIN = 24

SKLEARN_LAYERS = set(LAYERS[LAYERS.index("estimators") :])


def _modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            yield path, parts[0]


def _imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module == "marginwise":
                yield from (f"marginwise.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _layer_of(module: str) -> str:
    return module.split(".")[1]


def test_every_module_has_a_layer():
    assert {layer for _, layer in _modules()} <= set(LAYERS)


def test_imports_go_down_only():
    wrong = []
    for path, layer in _modules():
        late = LATE.get(str(path.relative_to(PACKAGE)), set())
        for module in _imports(path):
            ours = module.startswith("marginwise.") and module not in late
            if ours and LAYERS.index(_layer_of(module)) > LAYERS.index(layer):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_upper_layers_are_imported_late_only_inside_functions():
    for name, modules in LATE.items():
        body = ast.parse((PACKAGE / name).read_text(encoding="utf-8")).body
        first = {node.module for node in body if isinstance(node, ast.ImportFrom)}
        assert not first & modules


def test_layers_meet_only_where_they_should():
    wrong = []
    for path, layer in _modules():
        for module in _imports(path):
            if module.startswith("marginwise."):
                allowed = ONLY.get((layer, _layer_of(module)))
                if allowed is not None and module not in allowed:
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_chains_of_imports_are_short():
    """What a module needs can be read by following few others; imports for types alone do not count."""
    known = {".".join(("marginwise", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path, _ in _modules()}
    known = {name.removesuffix(".__init__"): path for name, path in known.items()}
    needs = {}
    for name, path in known.items():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        named = [(node.module, alias.name) for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
        found = {f"{module}.{part}" if f"{module}.{part}" in known else module for module, part in named}
        needs[name] = (found & known.keys()) - {name}

    @functools.cache
    def length(name):
        return 1 + max(map(length, needs[name]), default=0)

    assert max(map(length, known)) <= LONGEST_CHAIN


def test_only_estimators_and_above_know_scikit_learn():
    wrong = [
        str(path.relative_to(PACKAGE))
        for path, layer in _modules()
        if layer not in SKLEARN_LAYERS and any(module.split(".")[0] == "sklearn" for module in _imports(path))
    ]
    assert not wrong


def test_private_parts_of_joblib_and_scikit_learn_are_known_in_one_place():
    """Joblib's executor and its tracker have no public names; all else that is used does."""
    private = {}
    for path, _ in _modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("joblib", "sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                if "externals" in names or any(name.startswith("_") for name in names):
                    private.setdefault(str(path.relative_to(PACKAGE)), []).append(".".join(names))
    assert set(private) == {"_runtime/processes.py"}
