#!/usr/bin/env bash
# Names the committed C++ files that clang-format would change (its own --dry-run also reports namespace comments that
# it would replace by themselves), and comments that do not begin with their subject.
set -euo pipefail
format=${CLANG_FORMAT:-clang-format-16}

changed=0
while IFS= read -r file; do
    if ! "$format" "$file" | cmp -s - "$file"; then
        echo "$file: run \`make format\`"
        changed=1
    fi
done < <(git ls-files '*.hpp' '*.cpp' ':!single_include')
subjectless='(Of|What|So many|Whose|Whether or not|Who|Whoever|Whatever) '
found=0
git grep -nE "^\s*///?<? ?$subjectless" -- '*.hpp' '*.cpp' ':!single_include' && found=1
git grep -nE "^\s*# ?$subjectless" -- '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' .ci/run && found=1
if [ $found = 1 ]; then
    echo "these comments do not begin with a subject or a verb"
    changed=1
fi
exit $changed
