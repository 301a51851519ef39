#!/usr/bin/env bash
# g++ 12's intrinsic _tile_loadconfig, which gives the sizes of AMX's tiles to the processor, tells the optimiser that it reads the
# first 8 of the 64 bytes. Stores to the others are dropped from -O1 on: the processor is given sizes of 0 and traps at the next use of a tile.
#
# gcc 12.2.0-14+deb12u1 of Debian 12. The program sets 8 row lengths to 64 and 8 row counts. Seen: the assembly stores the byte 1 of
# the palette and zeros, and no 64 before ldtilecfg. Debian's clang 16.0.6 stores them. A compiler barrier before the intrinsic,
# asm volatile("" ::: "memory"), keeps them with both; so it is for tileloadd, which names no memory either.
#
# Exits with 0 as long as it is so. No AMX is needed: nothing is run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download --quiet=2 cpp-12=12.2.0-14+deb12u1 gcc-12=12.2.0-14+deb12u1 libgcc-12-dev=12.2.0-14+deb12u1 libmpc3=1.3.1-1 \
    libmpfr6=4.2.0-1 libisl23=0.25-1.1 libgmp10=2:6.2.1+dfsg1-1.1
for package in *.deb; do dpkg-deb --extract "$package" root; done
cat >configure.c <<'C'
#include <immintrin.h>
struct sizes {
    unsigned char palette, start, reserved[14];
    unsigned short row_bytes[16];
    unsigned char rows[16];
};
void configure(int rows) {
    _Alignas(64) struct sizes sizes = {.palette = 1};
    for (int i = 0; i < 8; ++i) sizes.row_bytes[i] = 64, sizes.rows[i] = (unsigned char)rows;
#ifdef BARRIER
    __asm__ volatile("" : : "r"(&sizes) : "memory");
#endif
    _tile_loadconfig(&sizes);
}
C
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu
gcc=$folder/root/usr/bin/x86_64-linux-gnu-gcc-12
"$gcc" --version | head -n 1
# The argument, which becomes the rows, arrives in edi.
uses_rows() { "$gcc" -B "$folder/root/usr/lib/gcc/x86_64-linux-gnu/12/" -O2 -march=sapphirerapids -S "$@" configure.c -o - | sed '/ldtilecfg/q' | grep -c '%edi'; }
without=$(uses_rows || true) with=$(uses_rows -DBARRIER || true)
echo "instructions before ldtilecfg that use the rows: $without; with a barrier: $with"
[[ $without -eq 0 && $with -gt 0 ]] || { echo "this has changed"; exit 1; }
