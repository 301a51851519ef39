#!/usr/bin/env bash
# release.sh <source> <folder> <compiler>: a release is made twice with the same bits, signed by a key that is then thrown away, and
# refused once a file of it was changed, added or removed. A program for several instruction sets has the same bits wherever
# it was built.
set -euo pipefail
source=$1 folder=$2 compiler=$3
export CCACHE_DISABLE=1  # whose objects may name the folder of another build
if ! git -C "$source" rev-parse --verify -q HEAD >/dev/null || ! command -v ssh-keygen >/dev/null; then
    echo "skipped: the source is no git checkout, or ssh-keygen is not installed (Debian: openssh-client)"
    exit 77
fi
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
ssh-keygen -q -t ed25519 -N '' -C '' -f key
echo "releases@primsel $(cat key.pub)" >signers

"$source/scripts/release.sh" make one key some/primsel
sleep 1
"$source/scripts/release.sh" make two key some/primsel
diff -r --exclude='*.sig' one two
"$source/scripts/release.sh" verify one signers
# refused <what was done>
refused() {
    if "$source/scripts/release.sh" verify two signers >/dev/null 2>&1; then
        echo "a release is accepted of which $1"
        exit 1
    fi
    rm -rf two
    cp -r one two
}
echo >>two/vcpkg/primsel/usage
refused "a file was changed"
touch two/more
refused "a file was added"
rm two/vcpkg/primsel/usage
refused "a file was removed"
sed -i '$d' two/SHA256SUMS
refused "the list was changed"
ssh-keygen -q -t ed25519 -N '' -C '' -f another
ssh-keygen -q -Y sign -f another -n primsel-release two/SHA256SUMS <<<y 2>/dev/null
refused "the list was signed by somebody else"

# The last map that fits is taken, and the folder may lie in the source.
for build in first/build second/of/another/length; do
    cmake -S "$source/test/build/consumption" -B $build -G Ninja -DHOW=add_subdirectory -DPRIMSEL_SOURCE="$source" \
          -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
          -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$source=/primsel -ffile-prefix-map=$folder/$build=." >/dev/null
    cmake --build $build --target consumer_dispatch >/dev/null
done
cmp first/build/consumer_dispatch second/of/another/length/consumer_dispatch
