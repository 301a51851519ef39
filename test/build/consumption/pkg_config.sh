#!/usr/bin/env bash
# pkg_config.sh <build> <installed> <folder> <compiler>: a program outside the tree finds the installed package with
# pkg-config alone, and so it does what `cmake --install` staged with DESTDIR.
set -euo pipefail
build=$1 installed=$2 folder=$3 compiler=$4
if ! command -v pkg-config >/dev/null; then
    echo "skipped: pkg-config is not installed (Debian: pkg-config)"
    exit 77
fi
source=$PWD/main.cpp
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

export PKG_CONFIG_PATH=$installed/share/pkgconfig
read -ra flags <<<"$(pkg-config --cflags primsel)"
"$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Werror "${flags[@]}" "$source" -o consumer
version=$(pkg-config --modversion primsel)
printed=$(./consumer)
if [[ $printed != "$version "* ]]; then
    echo "pkg-config says version $version, the program: $printed"
    exit 1
fi

DESTDIR=$PWD/staged cmake --install "$build" --prefix /opt/primsel --component library >/dev/null
for prefix in "$installed" "$PWD/staged/opt/primsel"; do
    found=$(PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config --variable=includedir primsel)
    if [[ $(realpath "$found") != "$prefix/include" || ! -f $found/primsel/primsel.hpp ]]; then
        echo "below $prefix the headers are said to be in $found"
        exit 1
    fi
done
