#!/usr/bin/env bash
# Tries the ways to take primsel into a program, on a Debian where only a compiler and CMake need be, and prints for each the seconds
# of processor and of clock that it takes: scripts/check_ways_in.sh <empty folder> [<libprimsel-dev_*.deb>]
# Run it in a bare root: debootstrap --variant=minbase bookworm ROOT, then in the root (chroot ROOT), as root: apt-get update.
# Packages are installed as a user would. vcpkg and Conan have tests of their own, test/build/vcpkg and scripts/check_conan.sh.
set -euo pipefail
work=$(mkdir -p "$1" && cd "$1" && pwd) deb=${2:+$(realpath "$2")}
top=$(cd "$(dirname "$0")/.." && pwd)
consumer=$top/test/build/consumption
status=0

# try <name> <function>
try() {
    local TIMEFORMAT='%U %S %R' result=works
    mkdir -p "$work/$1"
    cd "$work/$1"
    # Not as a condition, within which `set -e` does not hold.
    set +e
    { time (set -e; "$2" >log 2>&1); } 2>seconds
    [[ $? -eq 0 ]] || { result=FAILS status=1; tail -n 5 log; }
    set -e
    local user system clock
    read -r user system clock <seconds
    printf '%-18s%8s + %s s of processor, %s s by the clock: %s\n' "$1" "$user" "$system" "$clock" "$result"
}
packages() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends g++ cmake make pkg-config libxsimd-dev rapidjson-dev; }
project() {
    cmake -S "$consumer" -B build -DCMAKE_BUILD_TYPE=Release -DPRIMSEL_SOURCE="$top" "$@"
    cmake --build build --target consumer
    build/consumer
}
find_package() {
    cmake -S "$top" -B primsel -DPRIMSEL_TESTS=OFF -DPRIMSEL_BENCHES=OFF -DPRIMSEL_EXAMPLES=OFF
    cmake --install primsel --prefix "$work/prefix"
    project -DHOW=find_package -DCMAKE_PREFIX_PATH="$work/prefix"
}
add_subdirectory() { project -DHOW=add_subdirectory; }
fetch_content() { project -DHOW=fetch_content; }
by_pkg_config() {
    # shellcheck disable=SC2046
    c++ -std=c++20 -O2 $(pkg-config --cflags primsel) "$consumer/main.cpp" -o consumer
    ./consumer
}
installed() { PKG_CONFIG_PATH=$work/prefix/share/pkgconfig by_pkg_config; }
single_header() {
    printf '#include <primsel/primsel.hpp>\nint main() { return primsel::Tensor<>(primsel::Shape{1, 1, 1}).size() == 1 ? 0 : 1; }\n' >main.cpp
    c++ -std=c++20 -O2 -I "$top/single_include" main.cpp -o consumer
    ./consumer
}
debian_package() {
    dpkg -i "$deb"
    by_pkg_config
    project -DHOW=find_package
}

try apt packages
try find_package find_package
try pkg-config installed
try add_subdirectory add_subdirectory
try FetchContent fetch_content
[[ -z $deb ]] || try Debian debian_package
try single_header single_header
exit $status
