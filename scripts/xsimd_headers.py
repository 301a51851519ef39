"""Newer releases of xsimd than Debian's, which come inside a package that pip gets.

    xsimd_headers.py <folder>

Prints the folder to include, for xsimd 14.1.0, and ends with 77 where pip has it not.
"""
import pathlib
import subprocess
import sys
import zipfile

RELEASES = ("0.18.0", "0.19.0")  # of pythran, with xsimd 13.0.0 and 14.1.0


def headers(folder: pathlib.Path, release: str) -> pathlib.Path:
    result = folder / f"pythran-{release}"
    if not (result / "pythran/xsimd/xsimd.hpp").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", f"pythran=={release}", "--no-deps", "--only-binary=:all:", "-q", "-d", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            print(f"no pythran {release} to be had by pip: skipped", file=sys.stderr)
            sys.exit(77)
        (wheel,) = folder.glob(f"pythran-{release}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(result, [name for name in archive.namelist() if name.startswith("pythran/xsimd/")])
    return result / "pythran"


if __name__ == "__main__":
    print(headers(pathlib.Path(sys.argv[1]).resolve(), RELEASES[-1]))
