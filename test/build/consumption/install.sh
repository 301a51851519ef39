#!/usr/bin/env bash
# install.sh <source> <build> <prefix>: installs to another folder first and moves it, so that nothing in the package
# can rest on where it was installed, and sees that nothing in it names the checkout.
set -euo pipefail
source=$1 build=$2 prefix=$3

rm -rf "$prefix" "$prefix.first"
cmake --install "$build" --prefix "$prefix.first" >/dev/null
mv "$prefix.first" "$prefix"
test -f "$prefix/share/cmake/primsel/primselConfig.cmake"
if grep -rF "$source" "$prefix/share/cmake" "$prefix/share/pkgconfig"; then
    echo "the installed package names the checkout"
    exit 1
fi
