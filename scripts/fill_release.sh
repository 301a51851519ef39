#!/usr/bin/env bash
# Makes of a copy of cmake/conan-center/primsel or cmake/vcpkg/primsel what their registries take for a release:
#     scripts/fill_release.sh <copy> <archive> <URL of the archive> <owner>/<name on GitHub>
# The version is the library's. vcpkg wants the archive that GitHub itself makes of the tag v<version>.
set -euo pipefail
copy=$1 archive=$2 url=$3 repository=$4
version=$(sed -n 's/#define PRIMSEL_VERSION "\(.*\)"/\1/p' "$(dirname "$0")/../include/primsel/core/config.hpp")

if [[ -f $copy/config.yml ]]; then
    printf 'versions:\n  "%s":\n    folder: all\n' "$version" >"$copy/config.yml"
    printf 'sources:\n  "%s":\n    url: "%s"\n    sha256: "%s"\n' "$version" "$url" "$(sha256sum <"$archive" | cut -d ' ' -f 1)" \
        >"$copy/all/conandata.yml"
    sed -i "s|OWNER/primsel|$repository|" "$copy/all/conanfile.py"
else
    from_github="vcpkg_from_github(
    OUT_SOURCE_PATH SOURCE_PATH
    REPO $repository
    REF \"v\${VERSION}\"
    SHA512 $(sha512sum <"$archive" | cut -d ' ' -f 1)
    HEAD_REF main
)"
    sed -i -e '/^# /d' -e "s|^get_filename_component(SOURCE_PATH .*|${from_github//$'\n'/\\n}|" "$copy/portfile.cmake"
    sed -i "s|OWNER/primsel|$repository|; s|\"version\": .*|\"version\": \"$version\",|" "$copy/vcpkg.json"
fi
