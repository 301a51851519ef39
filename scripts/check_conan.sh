#!/usr/bin/env bash
# Packs the library with Conan 2, and builds and runs a consumer of the package: scripts/check_conan.sh <build folder>
# Requirements come from the system, so that no package server is asked. Conan itself comes from pip, if it is not installed.
set -euo pipefail
build=$(mkdir -p "$1" && cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)

if ! command -v conan >/dev/null; then
    [[ -x $build/venv/bin/conan ]] || { python3 -m venv "$build/venv" && "$build/venv/bin/pip" install --quiet conan; }
    PATH=$build/venv/bin:$PATH
fi
export CONAN_HOME=$build/home
conan profile detect --force
conan create "$top" --test-folder "$top/test/build/conan" --options 'primsel/*:system=True' \
      --conf tools.cmake.cmaketoolchain:generator=Ninja --conf tools.cmake.cmake_layout:test_folder="$build/test_package"
