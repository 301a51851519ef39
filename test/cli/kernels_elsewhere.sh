#!/usr/bin/env bash
# The commands, which are optimised little, must not define kernels: of several definitions the linker takes the first it
# meets, and that were theirs.
#
#     kernels_elsewhere.sh <library of the kernels> <object>...
set -euo pipefail
defines_kernels() { nm -C "$1" 2>/dev/null | grep -c ' W .*primsel::.*gemm::tile<' || true; }

[[ $(defines_kernels "$1") -gt 0 ]] || { echo "$1 defines no matrix product: this test looks for the wrong name"; exit 1; }
status=0
for object in "${@:2}"; do
    count=$(defines_kernels "$object")
    if [[ $count -gt 0 ]]; then
        echo "$object defines $count kernels of matrix products; which list of primitives is not an extern template?"
        status=1
    fi
done
exit $status
