#!/usr/bin/env python3
"""run.py <work folder> <instruction set> <libprimsel_kernels.a> <compiler>: installs the package by pip into a virtual environment, with kernels
that are compiled already, and runs its tests there. Ends with 77, and says why, where that cannot be had."""
import os
import pathlib
import subprocess
import sys
import venv

TOP = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ["scikit-build-core>=1.0", "nanobind>=3.0", "numpy", "pytest", "onnxruntime"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main():
    work, arch, kernels, compiler = pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:]
    python = work / "venv/bin/python"
    if not (work / "made").exists():
        try:
            venv.create(work / "venv", with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError) as reason:
            skip(f"no virtual environment can be made (Debian: python3-venv): {reason}")
        if subprocess.run([python, "-c", "import sysconfig, os; assert os.path.exists(sysconfig.get_path('include') + '/Python.h')"],
                          check=False, capture_output=True).returncode != 0:
            skip("the headers of Python are missing (Debian: python3-dev)")
        if subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *NEEDED], check=False).returncode != 0:
            skip(f"pip cannot install {' '.join(NEEDED)}")
        (work / "made").touch()
    define = {"PRIMSEL_ARCH": arch, "PRIMSEL_KERNELS_LIBRARY": kernels, "CMAKE_CXX_COMPILER": compiler, "PRIMSEL_WERROR": "ON",
              "PRIMSEL_SHARED_FLAGS": "-O0"}
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--force-reinstall",
                    *(f"-Ccmake.define.{name}={value}" for name, value in define.items()), f"-Cbuild-dir={work}/build", TOP], check=True)
    # Not from the sources' folder, whose primsel/ has no extension.
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", TOP / "python/tests"], check=True, cwd=work,
                   env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


main()
