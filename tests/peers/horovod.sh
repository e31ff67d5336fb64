#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# horovod.sh BUILD [FOLDER]: real Horovod 0.28.1 under lockstep-record --horovod, 4 ranks on this host.
# horovod.sh BUILD --check RUN STEPS SLOW_RANK GROUPS: only what it checks of a recorded run.
#
# FOLDER (peers in the build) keeps the virtual environment in which Horovod is built the first
# time, which takes minutes. The job is peers/horovod-job.py of the folder that LOCKSTEP_SHARED names
# (../shared). Of each run every tensor must have its name, bytes, count and submissions on every
# rank, the slow rank must be named, and the control be seen; printed are also the steps a second with
# and without the recorder, which are this machine's.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shared=${LOCKSTEP_SHARED:-$here/../../../shared}
ranks=4
steps=200
short=20

say() { printf '%s\n' "$*" >&2; }

# What the report says of a run, against the schedule of horovod-job.py.
check() {
    "$build/src/cli/lockstep" report "$1" --format json | /usr/bin/python3 -c '
import json, sys
steps, slow, groups = map(int, sys.argv[1:4])
sizes = {"fc.bias": 40, "fc.weight": 20480, "layer4.bn": 2048, "layer4.conv": 1048576, "layer3.bn": 1024,
         "layer3.conv": 524288, "layer2.bn": 512, "layer2.conv": 262144, "layer1.bn": 256, "layer1.conv": 65536,
         "stem.bn": 128, "stem.conv": 6912}
tables = json.load(sys.stdin)["tables"]
faults = []
rows = {row["tensor"]: row for row in tables["tensors"]}
if groups:
    per = len(sizes) // groups
    want = {f"grouped_allreduce.group{i // per}_{i % per + 1}of{per}": size
            for i, size in enumerate(sizes.values())}
else:
    want = {"allreduce." + name: size for name, size in sizes.items()}
if set(rows) != set(want):
    faults.append("tensors that only one side has: " + ", ".join(sorted(set(rows) ^ set(want))))
for name, size in want.items():
    row = rows.get(name, {})
    if row.get("bytes") != size or row.get("count") != steps or row.get("spread_ns") is None:
        faults.append(f"{name}: {row}")
ranks = [row for row in tables["stragglers"] if row["level"] == "rank"]
late = max(ranks, key=lambda row: row["times_last"])["rank"] if ranks else None
if slow >= 0 and late != slow:
    faults.append(f"rank {slow} was late, the report names {late}")
if not tables["cycles"]:
    faults.append("no cycle of the control was seen")
texts = [row["text"] for row in tables["findings"]]
faults += [text for text in texts if "without names" in text or "no Horovod timeline" in text]
paths = ", ".join("{path} {cycles}".format(**row) for row in tables["cycles"])
print(f"{len(rows)} tensors, late rank {late}, cycles: {paths}")
for fault in faults:
    print("  not so:", fault)
sys.exit(1 if faults else 0)
' "$2" "$3" "$4"
}

# Horovod in a virtual environment of Debian's own Python, which has torch.
make_horovod() {
    [ -x "$folder/venv/bin/python" ] && "$folder/venv/bin/python" -c 'import horovod.torch' 2>/dev/null && return
    /usr/bin/python3 -c 'import torch, venv, yaml, cffi, psutil, cloudpickle' 2>/dev/null || {
        say "Horovod needs: apt-get install python3-torch libtorch-dev pybind11-dev libopenmpi-dev openmpi-bin" \
            "python3-dev python3-venv python3-setuptools python3-wheel python3-cffi python3-yaml python3-psutil" \
            "python3-cloudpickle cmake"
        return 1
    }
    say "Building Horovod 0.28.1 in $folder (minutes) ..."
    mkdir -p "$folder" && /usr/bin/python3 -m venv --system-site-packages "$folder/venv" &&
        "$folder/venv/bin/pip" -q install packaging &&
        HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 \
            "$folder/venv/bin/pip" -q install --no-build-isolation --no-deps horovod==0.28.1
}

# job STEPS RUN ENV... -- ARGUMENTS: RUN "" is without the recorder. Prints how many ms it took.
job() {
    local n=$1 run=$2 settings=() recorder=() begin
    shift 2
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    [ -n "$run" ] && recorder=("$build/tracer/lockstep-record" -o "$run" --horovod --quiet --)
    begin=$(date +%s%N)
    timeout 300 mpirun -np $ranks env "${settings[@]}" "${recorder[@]}" "$folder/venv/bin/python" \
        "$shared/peers/horovod-job.py" --out "$folder/job" --steps "$n" "$@" >"$folder/out" 2>&1 || {
        say "the job failed:"
        tail -20 "$folder/out" >&2
        return 1
    }
    echo $((($(date +%s%N) - begin) / 1000000))
}

# Steps a second between a short run and a long one: starting and ending do not count.
rate() { echo "$1 $2" | awk -v n=$((steps - short)) '{ if ($2 > $1) printf "%.1f", n * 1000 / ($2 - $1); else print "?" }'; }

run_case() {
    local name=$1 slow=$2 groups=$3 a b c d
    shift 3
    rm -rf "$folder/$name" "$folder/$name-short"
    a=$(job $short "" "$@") && b=$(job $steps "" "$@") && c=$(job $short "$folder/$name-short" "$@") &&
        d=$(job $steps "$folder/$name" "$@") || return 1
    printf '%s: %s steps/s without record, %s with; ' "$name" "$(rate "$a" "$b")" "$(rate "$c" "$d")"
    check "$folder/$name" $steps "$slow" "$groups"
}

main() {
    [ $# -ge 1 ] || { say "usage: horovod.sh BUILD [FOLDER] | BUILD --check RUN STEPS SLOW_RANK GROUPS"; exit 2; }
    build=$(cd "$1" && pwd) || exit 2
    if [ "${2:-}" = --check ]; then
        shift 2
        check "$@"
        exit
    fi
    folder=${2:-$build/peers}
    mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 2
    [ -f "$shared/peers/horovod-job.py" ] || { say "$shared/peers/horovod-job.py is not there: name its folder in LOCKSTEP_SHARED"; exit 2; }
    make_horovod || exit 2
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    local failed=0
    run_case cached -1 0 X=1 -- || failed=$((failed + 1))
    run_case slow 2 0 X=1 -- --slow-rank 2 --slow-ms 20 || failed=$((failed + 1))
    run_case uncached -1 0 HOROVOD_CACHE_CAPACITY=0 -- || failed=$((failed + 1))
    run_case grouped -1 3 X=1 -- --groups 3 || failed=$((failed + 1))
    echo "$failed of 4 failed"
    exit $((failed > 0))
}

main "$@"
