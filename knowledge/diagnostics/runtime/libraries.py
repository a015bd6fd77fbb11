"""Shared libraries: what the extensions link, what is missing, what is there twice; MPI installations among them."""

from __future__ import annotations

import glob
import os
import re
import sysconfig

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

EXTENSIONS = (
    "horovod/*/*.so",
    "deepspeed/ops/*.so",
    "apex*/*.so",
    "amp_C*.so",
    "flash_attn*.so",
    "fused_*.so",
    "colossalai/*/*.so",
    "mpi4py/MPI*.so",
    "torchvision/_C*.so",
    "xformers/_C*.so",
    "transformer_engine*.so",
)


LIBRARIES = ("libcudart", "libnccl", "libcudnn", "libmpi", "libstdc++", "libtorch", "libcublas")


def extension_files(job: Job) -> list[str]:
    """Compiled extensions of this field in the environment and in torch's build cache; at most 24."""
    folders = dict.fromkeys([sysconfig.get_paths()["platlib"], sysconfig.get_paths()["purelib"]])
    found = [
        file
        for folder in folders
        for pattern in EXTENSIONS
        for file in sorted(glob.glob(os.path.join(folder, pattern)))
    ]
    cache = job.var("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    found += sorted(
        glob.glob(os.path.join(cache, "*", "*", "*.so")) + glob.glob(os.path.join(cache, "*", "*.so"))
    )
    named = [place for place in str(getattr(job.options, "library", "")).split(",") if place]
    return (named + found)[:24]


def library_folders(job: Job) -> str:
    """Where the wheels keep the libraries that extensions find only after `import torch`."""
    folders = []
    for base in dict.fromkeys([sysconfig.get_paths()["platlib"], sysconfig.get_paths()["purelib"]]):
        folders += [
            os.path.join(base, "torch", "lib"),
            *sorted(glob.glob(os.path.join(base, "nvidia", "*", "lib"))),
        ]
    return ":".join(
        [folder for folder in folders if os.path.isdir(folder)] + [job.var("LD_LIBRARY_PATH")]
    ).strip(":")


def probe_undefined_symbols(job: Job) -> Answer:
    """Let the dynamic linker say which libraries and symbols the extensions lack; the extensions are not
    run."""
    job.linux_only()
    ldd = job.need("ldd")
    files = extension_files(job)
    if not files:
        raise NotApplicable("no compiled extension of this field is installed")
    for file in files:
        ran = job.run([ldd, "-r", file], 4, {"LD_LIBRARY_PATH": library_folders(job)})
        name = os.path.basename(file).split(".")[0]
        missing = re.findall(r"^\s*(\S+) => not found", ran.out, re.M)
        if missing:
            return "missing_library", {"file": name, "library": missing[:3]}
        symbols = [
            one
            for one in re.findall(r"undefined symbol: (\w+)", ran.out + ran.err)
            if not re.match(r"_?_?Py", one)
        ]
        if symbols:
            return "undefined_symbol", {"file": name, "symbol": symbols[0][:80], "count": len(symbols)}
    return "ok", {"files": len(files)}


def probe_library_paths(job: Job) -> Answer:
    """Whether CUDA_HOME and LD_LIBRARY_PATH name folders that exist, and whether the latter hides
    libraries of the wheels."""
    named = [name for name in ("CUDA_HOME", "CUDA_PATH", "NCCL_HOME", "MPI_HOME") if job.var(name)]
    gone = [name for name in named if not os.path.isdir(job.var(name))]
    folders = [folder for folder in job.var("LD_LIBRARY_PATH").split(":") if folder]
    gone += ["LD_LIBRARY_PATH"] if folders and not any(os.path.isdir(folder) for folder in folders) else []
    if not named and not folders:
        return "unset", {}
    if gone:
        return "gone", {"variables": gone}
    own = {os.path.realpath(folder) for folder in library_folders(job).split(":")[: -len(folders) or None]}
    hidden = {
        name
        for folder in folders
        for name in LIBRARIES
        if os.path.realpath(folder) not in own and glob.glob(os.path.join(folder, name + ".so*"))
    }
    wheels = {
        name
        for name in hidden
        if any(glob.glob(os.path.join(folder, name + "*.so*")) for folder in own if folder)
    }
    return ("hides_wheels" if wheels else "ok"), {"hidden": sorted(wheels), "named": named}


def probe_nccl_copies(job: Job) -> Answer:
    """Versions of the NCCL libraries that a process here may load."""
    job.linux_only()
    import ctypes

    folders = [
        *library_folders(job).split(":"),
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/cuda/lib64",
    ]
    files = {
        os.path.realpath(place)
        for folder in folders
        if folder
        for place in glob.glob(os.path.join(folder, "libnccl.so.2*"))
    }
    versions = set()
    for file in sorted(files)[:4]:
        number = ctypes.c_int()
        try:
            ctypes.CDLL(file).ncclGetVersion(ctypes.byref(number))
        except (OSError, AttributeError):
            continue
        versions.add(number.value)
    if not versions:
        raise NotApplicable("no NCCL library of its own is installed")
    facts: Facts = {"versions": sorted(versions)}
    return ("several" if len(versions) > 1 else "one"), facts


# MPI installations, and which of them the extensions link.


def mpi_family(text: str) -> str:
    """Which MPI a version text or a library name belongs to, with its main version."""
    for mark, family in (
        ("Open MPI", "openmpi"),
        ("OpenRTE", "openmpi"),
        ("Intel", "intelmpi"),
        ("HYDRA", "mpich"),
        ("MPICH", "mpich"),
    ):
        if mark in text:
            version = re.search(r"(\d+)\.\d+", text)
            return family + (" " + version.group(1) if version else "")
    return "other"


def mpi_launchers(job: Job) -> dict[str, str]:
    """Real files of every mpirun and mpiexec on PATH (and beside it, as Debian names them) to their
    family."""
    found: dict[str, str] = {}
    for folder in job.var("PATH").split(":"):
        for name in (
            "mpirun",
            "mpiexec",
            "mpirun.openmpi",
            "mpirun.mpich",
            "mpiexec.mpich",
            "mpiexec.hydra",
            "orterun",
        ):
            place = os.path.realpath(os.path.join(folder, name))
            if place not in found and os.access(place, os.X_OK) and os.path.isfile(place):
                ran = job.run([place, "--version"], 4)
                found[place] = mpi_family(ran.out + ran.err)
    return found


def probe_mpi_installations(job: Job) -> Answer:
    """How many MPI installations there are."""
    found = mpi_launchers(job)
    if not found:
        raise NotApplicable("no MPI is installed")
    families = sorted(set(found.values()))
    facts: Facts = {"families": families, "launchers": len(found)}
    pair = {name: job.which(name) for name in ("mpirun", "mpiexec")}
    ends = {found.get(os.path.realpath(place)) for place in pair.values() if place}
    if len(ends) > 1:
        return "mpirun_and_mpiexec_differ", facts
    return ("several" if len(families) > 1 else "one"), facts


def probe_mpi_linkage(job: Job) -> Answer:
    """Whether the extensions link the library of the MPI whose mpirun would start them."""
    job.linux_only()
    ldd, mpirun = job.need("ldd"), job.need("mpirun")
    started = mpi_launchers(job).get(os.path.realpath(mpirun), "other").split()[0]
    linked = set()
    for file in extension_files(job):
        for line in job.run([ldd, file], 4).out.splitlines():
            hit = re.search(r"libmpi(?:ch|cxx)?\.so\S* => (\S+)", line)
            if hit:
                place = os.path.realpath(hit.group(1))
                linked.add(
                    "mpich"
                    if "mpich" in place or "libmpi.so.12" in line
                    else "openmpi"
                    if "libmpi.so" in line
                    else "other"
                )
    if not linked:
        raise NotApplicable("no extension links MPI")
    return ("mismatch" if started not in linked and "other" not in linked else "ok"), {
        "linked": sorted(linked),
        "mpirun": started,
    }


def probe_mpi_starts(job: Job) -> Answer:
    """Whether mpirun starts two processes on this machine that see a world of two."""
    mpirun = job.need("mpirun")
    if job.var("OMPI_COMM_WORLD_SIZE") or job.var("PMI_SIZE"):
        raise NotApplicable("this runs under MPI already")
    ran = job.run([mpirun, "-np", "2", "sh", "-c", "echo size ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}"], 10)
    said = ran.out + ran.err
    if ran.code is None:
        return "hangs", {}
    if ran.code == 0 and said.count("size 2") == 2:
        return "ok", {}
    marks = (("run as root", "refuses_root"), ("not enough slots", "too_few_slots"), ("size \n", "no_world"))
    return next((outcome for mark, outcome in marks if mark in said), "fails"), {"code": ran.code}
