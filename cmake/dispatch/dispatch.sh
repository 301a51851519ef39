#!/bin/sh
# Joins copies of a part of a program, each compiled for another instruction set, into one object file whose functions
# pick a copy when the program starts:
#
#   dispatch.sh OUTPUT.o ENTRY... -- ARCH OBJECT... [-- ARCH OBJECT...]...
#
# ENTRY are the part's functions with extern "C" that the rest of the program calls; ARCH is sse4_2 (-march=x86-64-v2),
# avx2 (-march=x86-64-v3) or avx512 (-march=x86-64-v4). The objects hold all of the part: whatever they define apart from
# the entries becomes their own, so that no function of the standard library or of anyone else's that was compiled for a
# newer processor is ever called by code for an older one. For ELF on x86-64, with GNU binutils. CXX, LD, OBJCOPY and
# NM name other tools.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CXX:=c++}" "${LD:=ld}" "${OBJCOPY:=objcopy}" "${NM:=nm}"

fail() {
    echo "dispatch.sh: $*" >&2
    exit 1
}

[ $# -ge 5 ] || fail "usage: dispatch.sh OUTPUT.o ENTRY... -- ARCH OBJECT... [-- ARCH OBJECT...]..."
output=$1
shift
entries=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    entries="$entries $1"
    shift
done
[ -n "$entries" ] || fail "no entry is named"

work=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$work"' EXIT

# isolate ARCH OBJECT...: $work/ARCH.o, of which only the entries, as <entry>_ARCH, and the bounds of the static initialisers
# can be seen from outside. The initialisers are moved to where the program's start-up does not look for them.
isolate() {
    arch=$1
    shift
    [ $# -gt 0 ] || fail "no objects for $arch"
    cat >"$work/initialisers.ld" <<END
SECTIONS {
    primsel_init : {
        primsel_init_begin_$arch = .;
        KEEP(*(SORT_BY_INIT_PRIORITY(.init_array.*)))
        KEEP(*(.init_array))
        primsel_init_end_$arch = .;
    }
}
END
    "$LD" -r --force-group-allocation -T "$work/initialisers.ld" -o "$work/all.o" "$@"
    if "$NM" --defined-only "$work/all.o" | grep -q " u "; then
        fail "$arch: symbols are unique in the whole program; compile with -fno-gnu-unique"
    fi
    rename="" keep="--keep-global-symbol=primsel_init_begin_$arch --keep-global-symbol=primsel_init_end_$arch"
    for entry in $entries; do
        "$NM" --defined-only "$work/all.o" | grep -q " T $entry\$" || fail "$arch: no function is called $entry; is it extern \"C\"?"
        rename="$rename --redefine-sym $entry=${entry}_$arch"
        keep="$keep --keep-global-symbol=${entry}_$arch"
    done
    # shellcheck disable=SC2086
    "$OBJCOPY" $rename "$work/all.o"
    # shellcheck disable=SC2086
    "$OBJCOPY" $keep "$work/all.o" "$work/$arch.o"
}

archs=""
while [ $# -gt 0 ]; do
    shift # --
    [ $# -gt 0 ] || fail "an instruction set is missing after --"
    arch=$1
    shift
    case $arch in sse4_2 | avx2 | avx512) ;; *) fail "$arch: no such instruction set; there are sse4_2, avx2 and avx512" ;; esac
    archs="$archs $arch"
    count=0
    for argument; do
        [ "$argument" != -- ] || break
        count=$((count + 1))
    done
    # The first `count` arguments are its objects.
    objects="$work/$arch.objects"
    : >"$objects"
    while [ $count -gt 0 ]; do
        printf '"%s"\n' "$1" >>"$objects"
        shift
        count=$((count - 1))
    done
    [ -s "$objects" ] || fail "no objects for $arch"
    isolate "$arch" "@$objects"
done

# The widest first.
list_archs="" parts=""
for arch in avx512 avx2 sse4_2; do
    case "$archs " in *" $arch "*) list_archs="$list_archs X($arch)" parts="$parts $work/$arch.o" ;; esac
done
list_entries=""
for entry in $entries; do list_entries="$list_entries X($entry, arch)"; done
# shellcheck disable=SC2086
$CXX -std=c++11 -O1 -fPIC "-DPRIMSEL_ARCHS(X)=$list_archs" "-DPRIMSEL_ENTRIES(X, arch)=$list_entries" \
    -c "$here/dispatch.cpp" -o "$work/dispatch.o"
# shellcheck disable=SC2086
"$LD" -r -o "$work/joined.o" "$work/dispatch.o" $parts
keep=""
for entry in $entries; do keep="$keep --keep-global-symbol=$entry"; done
# shellcheck disable=SC2086
"$OBJCOPY" $keep "$work/joined.o" "$work/output.o"

# The program sees the entries and nothing else.
visible=$("$NM" --defined-only --extern-only "$work/output.o" | sed -n 's/.* [A-Za-z] //p' | sort)
expected=$(echo "$entries" | tr ' ' '\n' | sed '/^$/d' | sort)
[ "$visible" = "$expected" ] || fail "visible are $visible and not only $expected"
mv "$work/output.o" "$output"
