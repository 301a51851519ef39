#!/usr/bin/env bash
# Runs every fuzzer of a build for a while: scripts/fuzz.sh <build folder> <seconds each>
# Starts from fuzz/corpus/<name>/ where that exists. What a fuzzer learns stays in <build folder>/corpus/<name>/, an
# input that breaks a parser in <build folder>/findings/.
set -euo pipefail
build=$1
seconds=$2

mkdir -p "$build/findings"
for fuzzer in "$build"/bin/fuzz_*; do
    [[ -x $fuzzer ]] || continue
    name=${fuzzer##*/fuzz_}
    folders=("$build/corpus/$name")
    mkdir -p "${folders[0]}"
    [[ -d fuzz/corpus/$name ]] && folders+=("fuzz/corpus/$name")
    echo "== $name: $seconds s"
    "$fuzzer" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/findings/$name-" "${folders[@]}"
done
