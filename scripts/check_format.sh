#!/usr/bin/env bash
# Names the committed C++ files that clang-format would change. (Its own --dry-run also reports namespace comments that
# it would replace by themselves.)
set -euo pipefail
format=${CLANG_FORMAT:-clang-format-16}

changed=0
while IFS= read -r file; do
    if ! "$format" "$file" | cmp -s - "$file"; then
        echo "$file: run \`make format\`"
        changed=1
    fi
done < <(git ls-files '*.hpp' '*.cpp' ':!single_include')
exit $changed
