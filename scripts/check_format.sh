#!/usr/bin/env bash
# Names the committed C++ files that clang-format would change (its own --dry-run also reports namespace comments that
# it would replace by themselves), comments that do not begin with their subject, and views of the standard library.
set -euo pipefail
format=${CLANG_FORMAT:-clang-format-16}

# Copies are formatted, many by one process and as many processes as there are cores, and compared.
changed=0
formatted=$(mktemp -d)
trap 'rm -rf "$formatted"' EXIT
git ls-files -z '*.hpp' '*.cpp' ':!single_include' >"$formatted/files"
xargs -0 cp --parents -t "$formatted" .clang-format <"$formatted/files"
(cd "$formatted" && xargs -0 -P "$(nproc)" -n 40 "$format" -i <files)
while IFS= read -r -d '' file; do
    if ! cmp -s "$formatted/$file" "$file"; then
        echo "$file: run \`make format\`"
        changed=1
    fi
done <"$formatted/files"
subjectless='(Of|What|So many|Whose|Whether or not|Who|Whoever|Whatever) '
found=0
git grep -nE "^\s*///?<? ?$subjectless" -- '*.hpp' '*.cpp' ':!single_include' && found=1
git grep -nE "^\s*# ?$subjectless" -- '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' .ci/run && found=1
if [ $found = 1 ]; then
    echo "these comments do not begin with a subject or a verb"
    changed=1
fi
if git grep -nE '<ranges>|std::views::|std::ranges::(unique|remove|remove_if|partition|search|equal_range|find_end|rotate)\(' -- 'include'; then
    echo "clang 15 does not compile views of libstdc++ 12, nor the algorithms that return them"
    changed=1
fi
exit $changed
