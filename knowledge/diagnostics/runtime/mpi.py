"""MPI installations, and which of them the extensions link."""

from __future__ import annotations

import os
import re

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.libraries import extension_files


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
