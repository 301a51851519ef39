#!/usr/bin/env python3
"""Writes the bill of materials of a release as SPDX 2.3: sbom.py <archive or program> <output.spdx.json>

Of the source archive: the library and what its headers need. Of the program `primsel`: also what is compiled into it and which
shared libraries it loads, with the versions of the Debian packages that are installed here, with which it was built. The same
file gives the same bytes: the time is SOURCE_DATE_EPOCH, or that of the last commit."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# Name, licence, Debian package, home, and the shared library that the program loads, or none: headers alone.
NEEDED = [("xsimd", "BSD-3-Clause", "libxsimd-dev", "https://github.com/xtensor-stack/xsimd", None),
          ("rapidjson", "MIT", "rapidjson-dev", "https://github.com/Tencent/rapidjson", None)]
OF_PROGRAM = [("cli11", "BSD-3-Clause", "libcli11-dev", "https://github.com/CLIUtils/CLI11", None),
              ("eigen", "MPL-2.0", "libeigen3-dev", "https://eigen.tuxfamily.org", None),
              ("protozero", "BSD-2-Clause", "libprotozero-dev", "https://github.com/mapbox/protozero", None),
              ("libspng", "BSD-2-Clause", "libspng-dev", "https://libspng.org", "libspng"),
              ("libjpeg-turbo", "BSD-3-Clause AND IJG", "libturbojpeg0-dev", "https://libjpeg-turbo.org", "libturbojpeg"),
              ("libwebp", "BSD-3-Clause", "libwebp-dev", "https://developers.google.com/speed/webp", "libwebp"),
              ("yaml-cpp", "MIT", "libyaml-cpp-dev", "https://github.com/jbeder/yaml-cpp", "libyaml-cpp"),
              ("hiredis", "BSD-3-Clause", "libhiredis-dev", "https://github.com/redis/hiredis", "libhiredis")]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=TOP).stdout.strip()


def upstream_version(package: str) -> str | None:
    """The version of an installed Debian package without epoch and revision."""
    try:
        return re.sub(r"^\d+:|[-+~].*$", "", run("dpkg-query", "-W", "-f=${Version}", package))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None


def package(name: str, licence: str, home: str, version: str | None, **more: object) -> dict[str, object]:
    result = {"SPDXID": f"SPDXRef-{name}", "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
              "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}
    if home:
        result["homepage"] = home
    if version:
        result["versionInfo"] = version
    return result


def main() -> None:
    file, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    content = file.read_bytes()
    is_program = content.startswith(b"\x7fELF")
    digest = hashlib.sha256(content).hexdigest()
    config = (TOP / "include/primsel/core/config.hpp").read_text(encoding="utf-8")
    version = re.search(r'#define PRIMSEL_VERSION "(.*)"', config)[1]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))
    subject = package("primsel", "MIT", "", version, packageFileName=file.name, supplier="Organization: primsel",
                      primaryPackagePurpose="APPLICATION" if is_program else "SOURCE",
                      checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    subject["copyrightText"] = "Copyright (c) 2026 the primsel authors"
    loaded = run("readelf", "--dynamic", "--wide", str(file.resolve())) if is_program else ""
    packages, relationships = [subject], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-primsel")]
    for name, licence, debian, home, library in NEEDED + (OF_PROGRAM if is_program else []):
        if library and f"[{library}." not in loaded:
            continue
        packages.append(package(name, licence, home, upstream_version(debian) if is_program else None))
        how = "DYNAMIC_LINK" if library else "STATIC_LINK" if is_program else "DEPENDS_ON"
        relationships.append(("SPDXRef-primsel", how, f"SPDXRef-{name}"))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"primsel-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/primsel-{version}-{digest}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: primsel-sbom.py", "Organization: primsel"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b} for a, how, b in relationships],
    }
    output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


main()
