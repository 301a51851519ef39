#!/usr/bin/env bash
# Makes the files of a release of the last commit, or checks those that somebody downloaded:
#     scripts/release.sh make <folder> <signing key of ssh-keygen> <owner>/<name on GitHub> [<program primsel>]
#     scripts/release.sh verify <folder> <file of allowed signers>
# The source archive, its bill of materials, the recipe for ConanCenter, the port for vcpkg, and what Debian's tools need; with
# a program also that, its bill and the licences of what is compiled into it. SHA256SUMS names all, and SHA256SUMS.sig is its
# signature. Everything but the signature is the same bits each time. A line of allowed signers: releases@primsel <public key>
set -euo pipefail

case ${1:-} in
verify)
    signers=$(realpath "$3")
    cd "$2"
    ssh-keygen -Y verify -f "$signers" -I releases@primsel -n primsel-release -s SHA256SUMS.sig <SHA256SUMS
    sha256sum --check --strict --quiet SHA256SUMS
    # Nothing lies beside them that was not signed.
    diff <(sed 's/^[0-9a-f]*  //' SHA256SUMS | LC_ALL=C sort) <(find . -type f ! -name 'SHA256SUMS*' | sed 's|^\./||' | LC_ALL=C sort)
    exit
    ;;
make) ;;
*)
    sed -n '2,4s/^# *//p' "$0"
    exit 2
    ;;
esac
out=$(mkdir -p "$2" && cd "$2" && pwd) key=$(realpath "$3") repository=$4 program=${5:+$(realpath "$5")}
cd "$(dirname "$0")/.."
if [[ -n $(ls -A "$out") ]]; then echo "$out is not empty"; exit 1; fi
version=$(git show HEAD:include/primsel/core/config.hpp | sed -n 's/#define PRIMSEL_VERSION "\(.*\)"/\1/p')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

archive=$out/primsel-$version.tar.gz
git archive --prefix="primsel-$version/" HEAD | gzip -9n >"$archive"
scripts/sbom.py "$archive" "$archive.spdx.json"
cp -r cmake/conan-center "$out/conan-center"
cp -r cmake/vcpkg "$out/vcpkg"
url=https://github.com/$repository/releases/download/v$version/$(basename "$archive")
scripts/fill_release.sh "$out/conan-center/primsel" "$archive" "$url" "$repository"
scripts/fill_release.sh "$out/vcpkg/primsel" "$archive" "$url" "$repository"
if [[ -n $program ]]; then
    mkdir -p "$out/program/licences"
    cp "$program" "$out/program/primsel"
    cp LICENSE "$out/program"
    scripts/sbom.py "$out/program/primsel" "$out/program/primsel.spdx.json"
    for package in libxsimd-dev rapidjson-dev libcli11-dev libeigen3-dev libprotozero-dev; do
        cp "/usr/share/doc/$package/copyright" "$out/program/licences/$package"
    done
fi
cd "$out"
find . -type f ! -name 'SHA256SUMS*' | sed 's|^\./||' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS
ssh-keygen -q -Y sign -f "$key" -n primsel-release SHA256SUMS
