#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# horovod.sh [--make] BUILD [--only CASE,...] [--rounds N]: real Horovod 0.28.1 under lockstep-record
# --horovod, 4 ranks on this host (horovod.py).
#
# Horovod is the one of the Python that HVD_PY names, else the one of BUILD/peers/venv, which --make
# builds (minutes). The job is peers/horovod-job.py of the folder that LOCKSTEP_SHARED names
# (../shared). Exit status: 0 all as the schedule says, 1 something is not, 2 it could not be asked.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LOCKSTEP_SHARED=${LOCKSTEP_SHARED:-$here/../../../shared}
packages="python3-torch libtorch-dev pybind11-dev libopenmpi-dev openmpi-bin python3-dev python3-venv \
python3-setuptools python3-wheel python3-cffi python3-yaml python3-psutil python3-cloudpickle cmake"

fail() {
    printf '%s\n' "$*" >&2
    exit 2
}

# Horovod in a virtual environment of Debian's own Python, which has torch.
make_horovod() {
    /usr/bin/python3 -c 'import torch, venv, yaml, cffi, psutil, cloudpickle' 2>/dev/null ||
        fail "Horovod needs: apt-get install $packages"
    echo "Building Horovod 0.28.1 in $1 (minutes) ..." >&2
    mkdir -p "$1" && /usr/bin/python3 -m venv --system-site-packages "$1" && "$1/bin/pip" -q install packaging &&
        CC=gcc CXX=g++ HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 \
            "$1/bin/pip" -q install --no-build-isolation --no-deps horovod==0.28.1 || fail "Horovod could not be built in $1."
}

make=no
[ "${1:-}" != --make ] || { make=yes; shift; }
[ $# -ge 1 ] || fail "usage: horovod.sh [--make] BUILD [--only CASE,...] [--rounds N]"
build=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is not a folder."
shift
[ -x "$build/tracer/lockstep-record" ] || fail "$build holds no build of Lockstep: tracer/lockstep-record is not there."
[ -f "$LOCKSTEP_SHARED/peers/horovod-job.py" ] ||
    fail "$LOCKSTEP_SHARED/peers/horovod-job.py, the job to run, is not there: name its folder in LOCKSTEP_SHARED."
command -v mpirun >/dev/null || fail "mpirun is not installed: apt-get install openmpi-bin"
python=${HVD_PY:-$build/peers/venv/bin/python}
if ! "$python" -c 'import horovod.torch' 2>/dev/null && [ -z "${HVD_PY:-}" ] && [ "$make" = yes ]; then
    make_horovod "$build/peers/venv"
fi
"$python" -c 'import horovod.torch' 2>/dev/null ||
    fail "Horovod is not installed for $python: name a Python that has it in HVD_PY, or build it with horovod.sh --make BUILD."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
exec /usr/bin/python3 "$here/horovod.py" "$build" "$python" "$@"
