#!/usr/bin/env bash
# Runs every fuzzer of a build for a while: scripts/fuzz.sh <build folder> <seconds each>
# Starts from fuzz/corpus/<name>/ where that exists; what it learns and finds stays in <build folder>/corpus/<name>/.
set -euo pipefail
build=$1
seconds=$2

shopt -s nullglob
for fuzzer in "$build"/bin/fuzz_*; do
    name=${fuzzer##*/fuzz_}
    learned=$build/corpus/$name
    mkdir -p "$learned"
    seeds=(fuzz/corpus/"$name"/)
    echo "== $name: $seconds s"
    "$fuzzer" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$learned/" "$learned" "${seeds[@]}"
done
