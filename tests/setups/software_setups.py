"""Software that does not fit: MPIs, libraries, versions, on one machine or between two."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.setups.machines import cluster
from tests.setups.model import BASE_PATH, PYTHON, Run, setup
from tests.setups.network_setups import over

DEPENDENCY = "dependency"
SYMBOL = "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"


def environment(folder: Path, packages: Mapping[str, tuple[str, str]] = {}) -> Path:
    """A real virtual environment; packages get metadata only: name to (version, a Requires-Dist line or
    nothing)."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    for name, (version, demand) in packages.items():
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"] + (
            [f"Requires-Dist: {demand}"] if demand else []
        )
        (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def site_of(folder: Path) -> Path:
    """The environment's site-packages."""
    return next(folder.glob("lib/python3*/site-packages"))


def stub_library(target: Path, code: str, *flags: str) -> None:
    """Compile a shared library."""
    target.parent.mkdir(parents=True, exist_ok=True)
    source = target.with_suffix(".c")
    source.write_text(code, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(target), str(source), *flags], check=True)


@setup(
    "two-mpis",
    "Debian's openmpi-bin and mpich side by side",
    DEPENDENCY,
    ["mpi_installations:several", "mpi_installations:mpirun_and_mpiexec_differ"],
    framework="horovod",
    needs=("mpirun.openmpi", "mpirun.mpich"),
)
def two_mpis(folder: Path) -> Iterator[list[Run]]:
    yield [Run()]


@setup(
    "undefined-symbol",
    "Horovod's extension wants a symbol that no torch here has (a stub)",
    DEPENDENCY,
    ["undefined_symbols:undefined_symbol"],
    framework="horovod",
    needs=("gcc", "ldd"),
    report="It does not start.",
)
def undefined_symbol(folder: Path) -> Iterator[list[Run]]:
    venv = environment(folder / "venv")
    code = f"extern void {SYMBOL}(void); void start(void) {{ {SYMBOL}(); }}"
    stub_library(site_of(venv) / "horovod" / "torch" / "mpi_lib_v2.so", code)
    yield [Run(python=str(venv / "bin" / "python"))]


@setup(
    "missing-library",
    "DeepSpeed's operation links a CUDA library that is not installed",
    DEPENDENCY,
    ["undefined_symbols:missing_library"],
    framework="deepspeed",
    needs=("gcc", "ldd"),
    report="It does not start.",
)
def missing_library(folder: Path) -> Iterator[list[Run]]:
    venv = environment(folder / "venv")
    stub_library(
        folder / "gone" / "libcudart.so.11.0",
        "int cudaFree(void) { return 0; }",
        "-Wl,-soname,libcudart.so.11.0",
    )
    code = "extern int cudaFree(void); int start(void) { return cudaFree(); }"
    stub_library(
        site_of(venv) / "deepspeed" / "ops" / "cpu_adam.so", code, str(folder / "gone" / "libcudart.so.11.0")
    )
    (folder / "gone" / "libcudart.so.11.0").unlink()
    yield [Run(python=str(venv / "bin" / "python"))]


@setup(
    "unmet-demand",
    "transformers demands another tokenizers than the one installed",
    DEPENDENCY,
    ["package_versions:unmet"],
    report="It does not start.",
)
def unmet_demand(folder: Path) -> Iterator[list[Run]]:
    packages = {
        "transformers": ("4.40.0", "tokenizers<0.20,>=0.19"),
        "tokenizers": ("0.21.1", ""),
        "accelerate": ("0.30.0", ""),
    }
    venv = environment(folder / "venv", packages)
    yield [Run(python=str(venv / "bin" / "python"))]


@setup(
    "import-broken",
    "Horovod's Python part imports a name that its dependency no longer has",
    DEPENDENCY,
    ["framework_import:missing_name", "framework_import:missing_module"],
    framework="horovod",
    report="It does not start.",
)
def import_broken(folder: Path) -> Iterator[list[Run]]:
    venv = environment(folder / "venv", {"horovod": ("0.28.1", "")})
    package = site_of(venv) / "horovod"
    package.mkdir()
    (package / "__init__.py").write_text("from json import removed_in_the_new_version\n", encoding="utf-8")
    yield [Run(python=str(venv / "bin" / "python"))]


@setup(
    "cuda-home-gone",
    "CUDA_HOME and LD_LIBRARY_PATH name a CUDA that was removed",
    DEPENDENCY,
    ["library_paths:gone"],
)
def cuda_home_gone(folder: Path) -> Iterator[list[Run]]:
    yield [Run({"CUDA_HOME": "/opt/cuda-10.1", "LD_LIBRARY_PATH": "/opt/cuda-10.1/lib64"})]


@setup(
    "launcher-elsewhere",
    "torchrun on PATH belongs to another environment than python",
    DEPENDENCY,
    ["environment:launcher_elsewhere"],
)
def launcher_elsewhere(folder: Path) -> Iterator[list[Run]]:
    old = environment(folder / "old")
    launcher = old / "bin" / "torchrun"
    launcher.write_text(f"#!{old}/bin/python\n", encoding="utf-8")
    launcher.chmod(0o755)
    yield [Run({"PATH": f"{old}/bin:{Path(PYTHON).parent}:{BASE_PATH}"})]


@setup(
    "versions-differ",
    "two machines whose environments hold different NCCL and torch versions",
    "inconsistent_processes",
    ["versions_agree:differ"],
    needs=("root", "ip"),
)
def versions_differ(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        runs = []
        for run, torch, nccl in zip(over(machines), ("2.4.1", "2.5.0"), ("2.20.5", "2.21.5"), strict=True):
            packages = {"torch": (torch, ""), "nvidia-nccl-cu12": (nccl, ""), "accelerate": ("1.2.0", "")}
            venv = environment(folder / f"venv{torch}", packages)
            runs.append(Run(run.env, run.before, python=str(venv / "bin" / "python")))
        yield runs


@setup(
    "code-differs",
    "two machines with different copies of the training script",
    "inconsistent_processes",
    ["code_agrees:differ"],
    needs=("root", "ip"),
)
def code_differs(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        runs = []
        for place, run in enumerate(over(machines)):
            cwd = folder / f"copy{place}"
            cwd.mkdir()
            (cwd / "train.py").write_text(f"EPOCHS = {10 + place}\n", encoding="utf-8")
            runs.append(Run(run.env, run.before, cwd))
        yield runs


@setup(
    "clock-skew",
    "the second machine's clock is ninety seconds ahead",
    "inconsistent_processes",
    ["rehearsal:clock_skew"],
    needs=("root", "ip", "faketime"),
)
def clock_skew(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        first, second = over(machines)
        yield [first, Run(second.env, [*second.before, "faketime", "-f", "+90s"])]
