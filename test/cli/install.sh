#!/usr/bin/env bash
# install.sh <build> <folder>: the component `tool` is the program, its man page and the completion of three shells, and
# nothing else; what can be checked here is well-formed.
set -euo pipefail
build=$1 folder=$2

rm -rf "$folder"
DESTDIR=$folder/staged cmake --install "$build" --prefix /usr --component tool >/dev/null
cd "$folder/staged/usr"
expected="bin/primsel
share/bash-completion/completions/primsel
share/fish/vendor_completions.d/primsel.fish
share/man/man1/primsel.1
share/zsh/site-functions/_primsel"
diff <(echo "$expected") <(find . -type f | sed 's|^\./||' | LC_ALL=C sort)
bin/primsel --version >/dev/null

# Every line that a checker prints is a finding. Without one of them the test ends as skipped.
status=0
check() {
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $1 is not installed"
        status=77
        return
    fi
    local findings
    findings=$("${@:2}" 2>&1 >/dev/null) || true
    if [[ -n $findings ]]; then
        echo "${*:2}: $findings"
        exit 1
    fi
}
check groff groff -man -Tutf8 -ww -z share/man/man1/primsel.1
check mandoc mandoc -T lint -W warning share/man/man1/primsel.1
check bash bash -n share/bash-completion/completions/primsel
check zsh zsh -n share/zsh/site-functions/_primsel
check fish fish --no-execute share/fish/vendor_completions.d/primsel.fish
exit $status
