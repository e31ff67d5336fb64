#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [BUILD]: what only a real GPU can answer, in at most 8 minutes on one device. Needs the build
# (default: build), a driver, libcupti and libnccl; exit 77 where there is no device. Prints `key value`
# lines and keeps them, with the run folders, under $OUT (default: gpu-results). RESULTS.md says what each
# answers.
set -u
build=$(cd "${1:-build}" && pwd) || exit 2
out=${OUT:-gpu-results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
record=$build/tracer/lockstep-record lockstep=$build/src/cli/lockstep train=$build/samples/gpu-train
probe=$build/tests/gpu/gpu-probe tracer=$build/tracer/liblockstep-tracer.so
for folder in /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 /usr/local/cuda/lib; do
    [ -d "$folder" ] && export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
"$probe" device >"$out/device.txt" 2>&1 || { cat "$out/device.txt"; echo "no CUDA device: skipped"; exit 77; }
cat "$out/device.txt"
say() { echo "$*" | tee -a "$out/results.txt"; }
: >"$out/results.txt"

# Runs at most SECONDS; its output in a file of its own.
part() { # NAME SECONDS COMMAND...
    local name=$1 limit=$2 start=$SECONDS left=$((480 - SECONDS))
    shift 2
    [ "$left" -gt 5 ] || { say "$name.status not_run_no_time_left"; return; }
    [ "$limit" -le "$left" ] || limit=$left
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    say "$name.status $?"
    say "$name.seconds $((SECONDS - start))"
    sed -n "s/^/$name./p" "$out/$name.txt" | grep -E '^[a-z0-9.-]+ [-0-9.]+' | tee -a "$out/results.txt"
}
count() { # RUN TABLE: rows of a table
    "$lockstep" report "$1" --table "$2" --format csv 2>/dev/null | tail -n +2 | grep -c .
}

# 1. Injection: is the door opened in cuInit, what does CUPTI answer; and a path that is not there.
part injection 30 "$record" -o "$out/injection" --kernels --nccl -- "$probe" launch 100
"$lockstep" info "$out/injection" | tee "$out/injection.info"
CUDA_INJECTION64_PATH=/nowhere/lib.so timeout 20 "$probe" launch 1 >"$out/absent.txt" 2>&1
say "injection.absent_path_status $?"

# 2. Clock: kernels before and after a pause lie between their launch and the return of the wait.
part clock 60 "$record" -o "$out/clock" --kernels -- "$probe" clock 1000 20
say "clock.findings $(count "$out/clock" findings)"

# 3. What is on disk after each way to end, with a kernel of 3 s in flight.
for way in return exit-thread _exit sigterm sigkill; do
    part "end-$way" 30 "$record" -o "$out/end-$way" --kernels -- "$probe" end "$way"
    say "end-$way.records $("$lockstep" info "$out/end-$way" | awk '$1 == "records" {print $2}')"
done

# 4. Cost of an empty launch: bare, then with each choice of kinds.
part cost-bare 40 "$probe" launch 300000
part cost-kernels 60 "$record" -o "$out/cost-kernels" --kernels --quiet -- "$probe" launch 300000
part cost-nvtx 40 "$record" -o "$out/cost-nvtx" --nvtx --quiet -- "$probe" launch 300000

# 5. Graphs: many nodes; whether times become 0 when CUPTI's pool is used up.
part graph 90 "$record" -o "$out/graph" --kernels --max-size=64M --quiet -- "$probe" graph 1000 3000
"$lockstep" report "$out/graph" --table findings >"$out/graph.findings" 2>&1

# 6. NCCL on one device: send and receive to itself go through the plugin, collectives do not.
part nccl 60 "$record" -o "$out/nccl" --kernels --nccl -- "$train" --steps 20
say "nccl.launches $(count "$out/nccl" launches)"
LOCKSTEP_NCCL_CHANNELS=1 part nccl-channels 60 "$record" -o "$out/nccl-channels" --kernels --nccl -- "$train" --steps 20

# 7. NVML: how often the sensors change, what a call costs.
part nvml 40 "$probe" nvml 10
part power 40 "$record" -o "$out/power" --kernels --power=50 -- "$train" --steps 3000
"$lockstep" report "$out/power" --table power | tee "$out/power.report"

# 8. reduce on the device, one rank: sums, pieces, fusion, order of streams, overlap, and what is recorded of it.
# hierarchical and hybrid need MPI, where one process alone is a job of one.
part reduce 40 "$build/tests/gpu/gpu-reduce" plane=nccl
part reduce-recorded 40 "$record" -o "$out/reduce" --kernels --nccl -- "$build/tests/gpu/gpu-reduce" plane=nccl
say "reduce-recorded.findings $(count "$out/reduce" findings)"
"$lockstep" report "$out/reduce" --table buffers >"$out/reduce.buffers" 2>&1
if [ -x "$build/tests/double/test-device-planes" ]; then
    part reduce-tests 60 "$build/tests/double/test-device-planes"
    part reduce-records 20 "$build/tests/double/test-device-records"
fi
part reduce-train 30 "$record" -o "$out/reduce-train" --kernels --nccl -- "$train" --steps 50 --reduce plane=nccl
say "seconds $SECONDS"
