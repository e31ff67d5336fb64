#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpich.py TEST LIBRARY VICTIM_SOURCE: the cases of TEST (test-preload.c) that need no program of ours, under MPICH.

MPICH of the system, or unpacked below the folder that LOCKSTEP_MPICH names, where Open MPI is the system's."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

TEST, LIBRARY, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
CASES = "/mpi/preload/each-call-is-recorded-as-it-was"


def find(root):
    """Folder of mpi.h, folders of libraries, the launcher; None where one is missing."""
    headers = glob.glob(f"{root}/usr/include/*/mpich/mpi.h")
    libraries = glob.glob(f"{root}/usr/lib/*/libmpich.so")
    launcher = shutil.which("mpiexec.hydra", path=f"{root}/usr/bin")
    if not headers or not libraries or launcher is None:
        return None
    folder = os.path.dirname(libraries[0])
    return os.path.dirname(headers[0]), [folder, *glob.glob(folder + "/slurm*")], launcher


def main():
    root = os.environ.get("LOCKSTEP_MPICH", "")
    found = find(root)
    if found is None or shutil.which("cc") is None:
        print("1..0 # SKIP MPICH is not installed (LOCKSTEP_MPICH may name a folder that it is unpacked in)")
        return 0
    headers, libraries, launcher = found
    paths = ":".join(libraries)
    with tempfile.TemporaryDirectory() as where:
        victim, mpirun = os.path.join(where, "victim"), os.path.join(where, "mpirun")
        subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-w", SOURCE, "-I" + headers, "-L" + libraries[0],
                        "-lmpich", "-Wl,-rpath-link," + paths, "-o", victim], check=True)
        with open(mpirun, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\nexport LD_LIBRARY_PATH={paths}\nexec {launcher} -launcher fork \"$@\"\n")
        os.chmod(mpirun, 0o755)
        return subprocess.run([TEST, "-p", CASES, mpirun, LIBRARY, victim, "none"], check=False, timeout=600).returncode


if __name__ == '__main__':
    sys.exit(main())
