#!/usr/bin/env bash
# Packs the library with the recipe for ConanCenter, as its service would, with every option, and builds and runs the recipe's
# test of the package; then packs the checkout by conanfile.py: scripts/check_conan.sh <build folder>
# The source is an archive of the checkout. Requirements are what the system has, so that no package server is asked. Conan
# itself comes from pip, if it is not installed.
set -euo pipefail
build=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."

if ! command -v conan >/dev/null; then
    [[ -x $build/venv/bin/conan ]] || { python3 -m venv "$build/venv" && "$build/venv/bin/pip" install --quiet conan; }
    PATH=$build/venv/bin:$PATH
fi
export CONAN_HOME=$build/home
rm -rf "$build/recipes" "$CONAN_HOME"
conan profile detect
conan remote remove conancenter

recipe=$build/recipes/primsel
cp -r cmake/conan-center "$build/recipes"
tar -czf "$build/source.tar.gz" --transform 's|^|primsel/|' LICENSE cmake include
scripts/fill_release.sh "$recipe" "$build/source.tar.gz" "file://$build/source.tar.gz" some/primsel
version=$(sed -n 's/ *"\(.*\)":/\1/p' "$recipe/config.yml")

options=()
while IFS=/ read -r name number; do
    conan export test/build/conan --name "$name" --version "$number" >/dev/null
done < <(sed -n 's|.*self\.requires("\([^"]*\)").*|\1|p' "$recipe/all/conanfile.py")
for option in $(sed -n 's/ *"\(with_[a-z_]*\)": \[.*/\1/p' "$recipe/all/conanfile.py"); do options+=(--options "primsel/*:$option=True"); done
# Not optimised: whether it compiles, links and runs is what is tested.
common=(--build=missing --settings compiler.cppstd=20 --settings build_type=Debug --conf tools.cmake.cmaketoolchain:generator=Ninja)
conan create "$recipe/all" --version "$version" "${common[@]}" "${options[@]}"

# The package holds every header, the licence and CMake's modules.
package=$(conan list "primsel/$version:*" --format=json | grep -o '"[0-9a-f]\{40\}"' | tr -d '"' | head -n 1)
packed=$(conan cache path "primsel/$version:$package")
# All headers but that of the C library, which is not in the package.
diff <(cd include && find . -name "*.hpp" | sort) <(cd "$packed/include" && find . -type f | sort)
(cd "$packed" && ls licenses/LICENSE lib/cmake/primsel/primselDispatch.cmake lib/cmake/primsel/dispatch/dispatch.sh)
conan create . "${common[@]}" --test-folder=
