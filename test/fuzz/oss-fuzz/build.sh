#!/bin/bash -eu
# Builds the fuzzers for OSS-Fuzz, whose variables it reads: SRC, WORK, OUT, CXX, CXXFLAGS, LIB_FUZZING_ENGINE. Libraries that
# are not in $SRC are taken from the system.
work=${WORK:?}/primsel

# yaml-cpp is compiled with the same flags; the others are headers.
if [[ -d $SRC/yaml-cpp ]]; then
    cmake -S "$SRC/yaml-cpp" -B "$WORK/yaml-cpp" -G Ninja -DCMAKE_INSTALL_PREFIX="$WORK/prefix" -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF
    cmake --build "$WORK/yaml-cpp" --target install
fi
headers=()
[[ ! -d $SRC/xsimd ]] || headers+=("-DPRIMSEL_XSIMD_INCLUDE_DIR=$SRC/xsimd/include")
[[ ! -d $SRC/rapidjson ]] || headers+=("-DPRIMSEL_RAPIDJSON_INCLUDE_DIR=$SRC/rapidjson/include")
[[ ! -d $SRC/protozero ]] || headers+=("-DPRIMSEL_PROTOZERO_INCLUDE_DIR=$SRC/protozero/include")
if [[ -d $SRC/eigen ]]; then
    cmake -S "$SRC/eigen" -B "$WORK/eigen" -G Ninja -DCMAKE_INSTALL_PREFIX="$WORK/prefix" -DBUILD_TESTING=OFF -DEIGEN_BUILD_DOC=OFF
    cmake --build "$WORK/eigen" --target install
fi

# Images are read by other libraries, which are fuzzed by their own projects.
cmake -S "$SRC/primsel" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_PREFIX_PATH="$WORK/prefix" "${headers[@]}" \
      -DPRIMSEL_FUZZ=ON "-DPRIMSEL_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" -DPRIMSEL_SPNG_LIBRARY=OFF \
      -DPRIMSEL_TESTS=OFF -DPRIMSEL_BENCHES=OFF -DPRIMSEL_EXAMPLES=OFF
cmake --build "$work" --target fuzz

# The program is the fuzzer that its name says.
cd "$SRC/primsel/test/fuzz"
for link in "$work"/bin/fuzz_*; do
    name=$(basename "$link")
    cp -L "$link" "$OUT/$name"
    [[ ! -d corpus/${name#fuzz_} ]] || zip -q -j "$OUT/${name}_seed_corpus.zip" corpus/"${name#fuzz_}"/*
    [[ ! -f dictionaries/${name#fuzz_}.dict ]] || cp "dictionaries/${name#fuzz_}.dict" "$OUT/$name.dict"
    # No input takes minutes; models may ask for 4 MiB of constants each.
    printf '[libfuzzer]\ntimeout = 25\nrss_limit_mb = 2560\n' >"$OUT/$name.options"
done
