"""The shape of the code: which way imports point, how long files are, what happens (nothing) when they are imported."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ["memory", "simulator", "evaluation"]  # each may import itself and those before it
SOURCES = sorted(p for layer in LAYERS for p in (ROOT / layer).rglob("*.py"))
HEAVY = {"langgraph", "langchain", "langchain_core", "langchain_openai", "chromadb", "torch", "sentence_transformers"}
HEAVY |= {"openai", "onnxruntime", "scipy", "sklearn", "transformers", "tiktoken", "xllamacpp", "nltk", "rouge_score"}
HEAVY |= {"aiohttp", "sacrebleu"}

ACTS = ["socket.connect", "socket.bind", "subprocess.Popen", "os.mkdir", "os.remove", "os.putenv", "sqlite3.connect"]
ACTS += ["_thread.start_new_thread"]


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = [name(p) for p in SOURCES]


def imported(path: Path) -> Iterator[str]:
    """Every module that a file names in an import: at the top, in a function or for type checking only."""
    package = name(path) if path.stem == "__init__" else name(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in MODULES else base


def run(code: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_point_one_way(path: Path) -> None:
    rank = LAYERS.index(path.relative_to(ROOT).parts[0])
    later = LAYERS[rank + 1 :]
    assert [i for i in imported(path) if i.split(".")[0] in later] == []
    outside = ("tests", "bench", "examples", "docs")
    assert [i for i in imported(path) if i.split(".")[0] in outside] == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    # A package that lists its own folder by import is an edge too: none is allowed to come back.
    edges = {name(p): {i for i in imported(p) if i in MODULES} - {name(p)} for p in SOURCES}
    done: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for after in sorted(edges[module]):
                walk(after, (*path, module))
            done.add(module)

    for module in MODULES:
        walk(module, ())


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_folders_are_at_most_two_deep() -> None:
    assert [name(p) for p in SOURCES if len(p.relative_to(ROOT).parts) > 3] == []


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("library", ["langgraph", "chromadb", "langchain", "openai"])
def test_at_most_one_file_of_a_layer_knows_each_big_library(library: str, layer: str) -> None:
    # langchain_core and langchain_openai count as langchain; langgraph does not.
    knows = re.compile(rf"{library}(_\w+)?(\.|$)")
    files = sorted({name(p) for p in SOURCES for i in imported(p) if knows.match(i)})
    assert len([f for f in files if f.startswith(f"{layer}.")]) <= 1, files


def light(path: Path) -> bool:
    """Whether nothing heavy is imported at the top of the file. What imports such a file has to do so in a function."""
    top = ast.parse(path.read_text(encoding="utf-8")).body
    named = [a.name for n in top if isinstance(n, ast.Import) for a in n.names]
    named += [n.module or "" for n in top if isinstance(n, ast.ImportFrom)]
    return not {i.split(".")[0] for i in named} & HEAVY


def test_importing_pulls_in_nothing_heavy_and_does_nothing(tmp_path: Path) -> None:
    # Files, sockets, processes and threads are seen by the audit hook; what libraries do at their import is theirs.
    code = f"""
import importlib, sys, threading
import asyncio, dataclasses, logging, multiprocessing, socket, sqlite3, subprocess, typing
import jinja2, msgspec, numpy, pydantic, rich.progress, typer, zstandard
seen = []
def hook(event, args):
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"): seen.append((event, args[0]))
    if event in {ACTS}: seen.append((event, str(args)[:80]))
sys.dont_write_bytecode = True
sys.addaudithook(hook)
handlers = len(logging.root.handlers)
for m in {[name(p) for p in SOURCES if light(p)]}: importlib.import_module(m)
assert not seen, seen
assert threading.active_count() == 1
assert len(logging.root.handlers) == handlers
heavy = {{m.partition(".")[0] for m in sys.modules}} & {HEAVY}
assert not heavy, heavy
"""
    tmp_path.chmod(0o500)
    done = run(code, cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""


def test_the_packages_themselves_are_light() -> None:
    assert all(light(ROOT / layer / "__init__.py") for layer in LAYERS)
    assert sum(not light(p) for p in SOURCES) <= 3


def test_help_takes_under_a_cpu_second() -> None:
    # In a process that waits for one child alone, so that tests running beside this one do not count.
    code = """
import resource, subprocess, sys
for _ in range(2):  # the first run may have to write bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = subprocess.run([sys.executable, "-m", "evaluation.cli", "--help"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
assert shown.returncode == 0 and "simulate" in shown.stdout, shown.stderr
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_offers_exists_and_is_little(module: str) -> None:
    offered = getattr(import_module(module), "__all__", [])
    assert [n for n in offered if not hasattr(import_module(module), n)] == []
    assert len(offered) <= 20


def test_no_tracked_file_names_a_machine_or_a_package_index() -> None:
    # Written in pieces, or this file would be found.
    paths = ["/wo" + "rk/", "/tmp/" + "dev", "/ro" + "ot/", "/ho" + "me/", "/op" + "t/"]
    hosts = ["py" + r"pi\.org", "files\\.py" + "thonhosted", "/simp" + "le/"]
    search = ["git", "grep"] if (ROOT / ".git").exists() else ["grep", "-r", "--exclude-dir=.venv"]
    found = subprocess.run(
        [*search, "-nIE", "|".join([*paths, *hosts]), "--", "."], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode in (0, 1), found.stderr  # 1: nothing found; more: nothing was looked at
    assert found.stdout == ""
