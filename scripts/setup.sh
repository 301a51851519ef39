#!/usr/bin/env bash
# Installs the Debian packages that the build needs, if any is missing: scripts/setup.sh [ci|docs]
# With `ci` also what .ci/run needs: clang and its sanitizers, the formatter and linter, the ARM cross compiler and its emulator,
# compilers for WebAssembly and Windows and what runs their programs, a Redis server for the tests of queues, and the HTTP library of
# examples/serve. With `docs` what the site of docs/ needs, and nothing else.
set -euo pipefail

packages=(g++ cmake ninja-build python3
          libxsimd-dev rapidjson-dev libeigen3-dev libboost-graph-dev zlib1g-dev
          doctest-dev librapidcheck-dev libbenchmark-dev libprotozero-dev libcli11-dev libspng-dev libturbojpeg0-dev libwebp-dev libyaml-cpp-dev
          libonnx-testdata
          dataset-fashion-mnist)
docs=(make python3-venv doxygen chromium fonts-dejavu-core)
if [[ ${1:-} == docs ]]; then
    packages=("${docs[@]}")
elif [[ ${1:-} == ci ]]; then
    packages+=(clang-16 libclang-rt-16-dev libomp-16-dev clang-format-16 clang-tidy-16 clang-15 clang-19 libc++-19-dev g++-aarch64-linux-gnu qemu-user
               lld-19 wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 nodejs
               g++-mingw-w64-x86-64-posix wine64
               pkg-config openssh-client python3-dev libhiredis-dev redis-server libcpp-httplib-dev "${docs[@]}")
fi

if ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian system; please install the equivalents of: ${packages[*]}" >&2
    exit 0
fi

installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | sed -n 's/ installed$//p' || true)
missing=()
for package in "${packages[@]}"; do
    grep -qx "$package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: please install, as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
