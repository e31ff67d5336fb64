#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kit.py SOURCE BUILD: the archive of samples/capture-kit records wherever it is unpacked.

LOCKSTEP_OLD_ROOT names the root of an older system (Debian 10 or 11 by debootstrap), in which it is then tried
too; needs root. TAP on standard output."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
NEEDED = os.path.join(SOURCE, "tests", "lint", "needed.py")


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=1000, check=False, **more)


def make(where):
    """The folder that the archive unpacks to."""
    made = run(os.path.join(SOURCE, "samples", "capture-kit"), os.path.join(where, "kit.tar.gz"),
               env={**os.environ, "LOCKSTEP_KIT_BUILD": os.path.join(BUILD, "kit")})
    assert made.returncode == 0, made.stdout + made.stderr
    os.mkdir(os.path.join(where, "some where else"))
    with tarfile.open(os.path.join(where, "kit.tar.gz")) as archive:
        archive.extractall(os.path.join(where, "some where else"))
    return os.path.join(where, "some where else", os.listdir(os.path.join(where, "some where else"))[0])


def check_files(kit):
    files = {os.path.relpath(os.path.join(folder, name), kit) for folder, _, names in os.walk(kit) for name in names}
    for name in ("bin/lockstep-record", "lib/liblockstep-capture.so", "include/lockstep-mark.h", "README", "LICENSE"):
        assert name in files, sorted(files)
    for name in sorted(files):
        if name.startswith("bin/"):
            checked = run(sys.executable, NEEDED, "--program", os.path.join(kit, name))
        elif name.endswith(".so") and not os.path.islink(os.path.join(kit, name)):
            checked = run(sys.executable, NEEDED, os.path.join(kit, name), "liblockstep-capture.so")
        else:
            continue
        assert checked.returncode == 0, checked.stdout


def check_records(kit, where):
    done = run(os.path.join(kit, "bin", "lockstep-record"), "-o", "RUN", "--", "python3", "-c", "print(1)", cwd=where)
    assert (done.stdout, done.returncode) == ("1\n", 0), done
    assert re.match(r"lockstep: 1 rank, 0 events, none lost, .*\n$", done.stderr), done.stderr
    assert os.path.exists(os.path.join(where, "RUN", "run.json"))
    ctypes.CDLL(os.path.join(kit, "lib", "liblockstep-capture.so"))


def check_old_root(kit, root):
    """Program and libraries on another C library: the command runs, a preloaded library loads, a run is there."""
    place = tempfile.mkdtemp(dir=os.path.join(root, "tmp"))
    inside = "/tmp/" + os.path.basename(place)
    try:
        shutil.copytree(kit, place + "/kit", symlinks=True)
        shutil.copy(kit + "/lib/liblockstep-capture.so", place + "/kit/lib/liblockstep-mpi.so")
        done = run("chroot", root, inside + "/kit/bin/lockstep-record", "-o", inside + "/RUN", "--mpi", "--", "sh", "-c",
                   "echo $LD_PRELOAD; exit 4")
        assert done.stdout == inside + "/kit/lib/liblockstep-mpi.so\n" and done.returncode == 4, done
        assert os.path.exists(place + "/RUN/run.json"), done.stderr
        assert any(name.endswith(".lks") for name in os.listdir(place + "/RUN"))
    finally:
        shutil.rmtree(place)


def main():
    root = os.environ.get("LOCKSTEP_OLD_ROOT", "")
    failed = 0
    with tempfile.TemporaryDirectory() as where:
        cases = [("files-and-symbol-versions", lambda: check_files(kit)), ("records", lambda: check_records(kit, where)),
                 ("on-an-older-system", lambda: check_old_root(kit, root))]
        print(f"1..{len(cases)}", flush=True)
        kit = make(where)
        for number, (name, case) in enumerate(cases, 1):
            if name == "on-an-older-system" and (not root or os.geteuid() != 0):
                print(f"ok {number} /inject/kit/{name} # SKIP LOCKSTEP_OLD_ROOT names no root of an older system")
                continue
            try:
                case()
                print(f"ok {number} /inject/kit/{name}")
            except AssertionError as error:
                failed += 1
                print(f"not ok {number} /inject/kit/{name}\n# " + str(error).replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
