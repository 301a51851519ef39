#!/usr/bin/env bash
# Runs every fuzzer of a build for a while, as many at once as there are cores: scripts/fuzz.sh <build folder> <seconds each>
# Starts from test/fuzz/corpus/<name>/ where that exists: inputs that each reach code that the others do not, chosen from more
# of them by `fuzz_<name> -set_cover_merge=1 -use_counters=0 <chosen> <all>`. What a fuzzer learns stays in
# <build folder>/corpus/<name>/, an input that breaks a parser in <build folder>/findings/.
set -euo pipefail
export build=$1 seconds=$2

fuzz_one() {
    local name=${1##*/fuzz_} folders=() log=$build/$(basename "$1").log
    folders=("$build/corpus/$name")
    mkdir -p "${folders[0]}"
    [[ -d test/fuzz/corpus/$name ]] && folders+=("test/fuzz/corpus/$name")
    [[ -f test/fuzz/dictionaries/$name.dict ]] && folders+=("-dict=test/fuzz/dictionaries/$name.dict")
    local status=0
    "$1" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/findings/$name-" "${folders[@]}" >"$log" 2>&1 ||
        status=$?
    echo "== $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    [[ $status -eq 0 ]] || cat "$log"
    return $status
}
export -f fuzz_one

mkdir -p "$build/findings"
find "$build/bin" -name 'fuzz_*' -type l | sort | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}'
