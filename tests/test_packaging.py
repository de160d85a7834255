"""What is installed is what is used, pinned; and the README says what there is."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from memory import weights
from memory.weights import Packaged

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = ["memory", "simulator", "evaluation"]
# Distribution -> what it installs as, where the two differ.
MODULES = {
    "rouge-score": "rouge_score",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "langgraph-checkpoint-sqlite": "langgraph",
}
# Imported module -> the declared package that brings it.
PARTS = {"langchain_core": "langchain", "aiohttp": "openai", "click": "typer", "markupsafe": "jinja2"}

# Imported only where a user brought it: asked for by an option, neither a dependency nor an extra (decisions/0020).
BROUGHT = {"bert_score"}


def requirement(line: str) -> str:
    return re.split(r"[\[<>=!~; ]", line)[0].lower()


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def listed(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return {requirement(line) for line in lines if line and not line.startswith("#")}


def imported(folder: str) -> set[str]:
    found: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {*OURS, "bench"}


BASE = {requirement(line) for line in PROJECT["dependencies"]}
EXTRAS = {requirement(line) for lines in PROJECT["optional-dependencies"].values() for line in lines}
DATA = {part.distribution for part in vars(weights).values() if isinstance(part, Packaged)}
USED = set().union(*(imported(folder) for folder in OURS))


def test_every_declared_dependency_is_used() -> None:
    unused = {d for d in BASE - DATA if MODULES.get(d, d.replace("-", "_")) not in USED}
    by_name = {"langchain-openai"}  # loaded by init_chat_model, which is given its name
    assert unused - by_name == set()


def test_every_import_is_declared() -> None:
    modules = {MODULES.get(d, d.replace("-", "_")) for d in BASE | EXTRAS}
    assert {m for m in USED if PARTS.get(m, m) not in modules} == BROUGHT


@pytest.mark.parametrize("lock", ["demo.lock", "tests.lock"])
def test_a_lock_pins_what_is_declared_and_leaves_out_what_is_not_used(lock: str) -> None:
    pins = locked(lock)
    wanted = BASE | DATA | (EXTRAS - {"torch"} if lock == "tests.lock" else set())
    assert wanted - pins.keys() == set()
    assert listed("unused.txt") & pins.keys() == set()
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    entry = r"[a-z0-9._-]+==[^\s;]+( ; [^\n\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"({entry})+", text), "an entry without a hash or an exact version"
    assert "torch" not in pins and not [p for p in pins if p.startswith("nvidia")]


def test_what_the_demo_runs_on_is_what_the_tests_have_tried() -> None:
    demo, tests = locked("demo.lock"), locked("tests.lock")
    assert {name: tests.get(name) for name in demo} == demo
    assert listed("tests-only.txt") & demo.keys() == set()


def test_the_wheel_carries_sample_templates_and_every_module(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for folder in OURS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", build, tmp_path], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    found = [p for f in OURS for p in (source / f).rglob("*") if p.is_file() and ".egg-info" not in str(p)]
    files = {str(p.relative_to(source)) for p in found}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files - names == set()
    assert any(name.endswith(".zst") for name in names)
    assert {n.split("/")[0] for n in names if not n.split("/")[0].endswith(".dist-info")} == set(OURS)


def test_the_readme_shows_tree_and_commands_as_they_are() -> None:
    spec = importlib.util.spec_from_file_location("tree", ROOT / "docs" / "tree.py")
    assert spec and spec.loader
    tree = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tree)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tree.renewed(readme) == readme, "run: make docs"


@pytest.mark.parametrize("text", ["README.md", "CONTRIBUTING.md", "CONVENTIONS.md", ".ci/run"])
def test_every_make_command_that_is_named_exists(text: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"^ *make ([a-z]+)|`make ([a-z]+)", (ROOT / text).read_text(encoding="utf-8"), re.MULTILINE))
    asked = {a or b for a, b in named}
    assert asked and asked <= targets


def test_links_of_the_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
