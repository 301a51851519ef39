"""What engines.py and layers.py need before they measure: programs built, packages installed, networks exported and
converted. All of it is kept and made only once."""
import json
import os
import pathlib
import subprocess
import sys

import report

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
# From the package index. pnnx is asked for without what it depends on: its program needs none of that.
PACKAGES = {
    "onnxruntime": ["onnxruntime", "onnx"],
    "openvino": ["openvino"],
    "nncf": ["openvino", "nncf"],
    "mnn": ["MNN"],
    "ncnn": ["ncnn"],
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def call(*command, **options):
    """Runs a program whose output is shown only when it fails, as the text of the error."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command[:3]))}...: {done.stdout.strip()[-1500:]}")
    return done.stdout


def build(folder, *targets, jobs=1):
    """The programs in folder/bin/peers, by CMake; a folder that is not configured yet is."""
    if not (folder / "CMakeCache.txt").exists():
        say(f"configuring {folder}")
        settings = "-DCMAKE_BUILD_TYPE=Release", "-DPRIMSEL_ARCH=native"
        call("cmake", "-S", TOP, "-B", folder, "-G", "Ninja", *settings)
    say(f"building {', '.join(targets)}")
    call("cmake", "--build", folder, "--parallel", jobs, "--target", *(f"peers_{name}" for name in targets))
    return [folder / "bin" / "peers" / name for name in targets]


def last_line(fault):
    return (str(fault).strip().splitlines() or ["?"])[-1]


def tried(path, write):
    """Writes a file by write(PATH), or, beside it as NAME.failed, why there is none. What is there is kept."""
    failed, part = path.with_suffix(".failed"), path.with_name(f"part.{path.name}")
    if path.exists() or failed.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write(part)
        os.replace(part, path)
        say(f"{path.parent.name}/{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    except Exception as fault:  # of an exporter, of whichever kind
        part.unlink(missing_ok=True)
        failed.write_text(f"{type(fault).__name__}: {fault}"[:4000])
        say(f"{path.parent.name}/{path.name}: {last_line(fault)[:150]}")


def make_venv(folder, engines):
    """The interpreter of a virtual environment with those engines, its packages' versions, and why any engine is not in
    it."""
    python, missing = folder / "bin" / "python", {}
    if not python.exists():
        say(f"making {folder}")
        call(sys.executable, "-m", "venv", folder)

    def install(*packages):
        known = call(python, "-m", "pip", "list", "--format=freeze").lower()
        if any(f"{package.lower()}==" not in known for package in packages if not package.startswith("-")):
            say(f"installing {' '.join(packages)}")
            call(python, "-m", "pip", "install", "--quiet", *packages)

    install("numpy", "pillow")
    install("--no-deps", "scikit-image")
    for engine in engines:
        try:
            install(*PACKAGES.get(engine, []))
            if engine == "ncnn":
                install("--no-deps", "pnnx")
        except RuntimeError as fault:
            missing[engine] = f"cannot be installed: {last_line(fault)}"
    listed = json.loads(call(python, "-m", "pip", "list", "--format=json"))
    wanted = {"pnnx", *(package.lower() for packages in PACKAGES.values() for package in packages)}
    versions = {each["name"]: each["version"] for each in listed if each["name"].lower() in wanted}
    return python, versions, missing


def export(python, torch, onnx, models, nets):
    """The networks as ONNX files with an image each, as TorchScript, and their logits in double; and why TorchScript is
    missing, if it is. Throws RuntimeError where files are missing and PyTorch too."""
    exported = [onnx / f"{net}{end}" for net in nets for end in (".onnx", ".224.input.npy", ".224.logits.npy")]
    exact = [models / f"{net}.exact.npy" for net in nets]
    try:
        call(torch, "-c", "import torch, torchvision")
    except (RuntimeError, OSError) as fault:
        absent = f"{torch} has no PyTorch with torchvision (Debian: python3-torch, python3-torchvision)"
        if all(path.exists() for path in [*exported, *exact]):
            return absent
        raise RuntimeError(f"the networks cannot be exported: {absent}") from fault
    say("exporting (what exists is kept)")
    if not all(path.exists() for path in exported):
        chosen = [word for net in nets for word in ("--net", net)]
        call(torch, HERE / "export_torchvision.py", onnx, "--size", 224, "--onnxruntime", python, *chosen)
    call(torch, HERE / "torch_models.py", onnx, models, *nets)
    return None


# How a detector wants pixels, as natural_images.py names it, and the height and width of its images.
PIXELS = {"yolox_nano": ("imagenet", 416, 416), "nanodet_m_416": ("nanodet", 416, 416), "yolo_fastest_v2": ("unit", 352, 352)}


def image_of(onnx, net):
    """The image that a network runs."""
    return onnx / (f"{net}.224.input.npy" if net in report.NETS else f"{net}.input.npy")


def natural_images(python, onnx, net):
    """Files of natural images as a network reads them: eight that calibrate, and sixteen others."""
    kind, height, width = PIXELS.get(net, ("imagenet", 224, 224))
    files = [onnx / f"{what}.{kind}.{height}x{width}.npy" for what in ("whole", "halves")]
    if not all(path.exists() for path in files):
        call(python, HERE / "natural_images.py", kind, height, width, *files)
    return files


def detectors(python, published, onnx, models, nets):
    """The published detectors among the networks, with an image each and ONNX Runtime's results in float32. Throws RuntimeError."""
    for net in nets:
        if net not in report.DETECTORS:
            continue
        model, image, exact = onnx / f"{net}.onnx", image_of(onnx, net), models / f"{net}.exact.npy"
        if all(path.exists() for path in (model, image, exact)):
            continue
        call(sys.executable, HERE / "published.py", published, net)
        say(f"preparing {net}")
        images, _ = natural_images(python, onnx, net)
        call(python, HERE / "prepare_detector.py", published / f"{net}.onnx", images, model, image, exact)


def convert_mnn(python, onnx, dst):
    part = dst.with_suffix(".part")
    # The converter itself: the program around it installs a package of its own to report what it converted.
    convert = "import sys, _tools; _tools.mnnconvert(sys.argv)"
    call(python, "-c", convert, "-f", "ONNX", "--modelFile", onnx, "--MNNModel", part, "--bizCode", "primsel")
    os.replace(part, dst)


def convert_ncnn(python, onnx, dst):
    """By pnnx, in float32, for one image of its size. Its other outputs go to a folder that is removed."""
    program = next(python.parent.parent.glob("lib/python3*/site-packages/pnnx/pnnx"), None)
    if not program:
        raise RuntimeError("pnnx is not installed")
    folder = dst.with_suffix(".pnnx")
    folder.mkdir(exist_ok=True)
    # It writes beside the model.
    link = folder / "net.onnx"
    link.unlink(missing_ok=True)
    link.symlink_to(onnx.resolve())
    _, height, width = PIXELS.get(onnx.stem, ("imagenet", 224, 224))
    call(program, link, f"inputshape=[1,3,{height},{width}]", "fp16=0", cwd=folder)
    os.replace(folder / "net.ncnn.bin", dst.with_suffix(".bin"))
    os.replace(folder / "net.ncnn.param", dst)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


CONVERTERS = {"mnn": ("mnn", convert_mnn), "ncnn": ("ncnn.param", convert_ncnn)}


QUANTISERS = {"ncnn": ("quantise_ncnn.py", "int8.ncnn.param"), "nncf": ("quantise_openvino.py", "nncf.xml")}


def model_of(engine, python, onnx, models, net, precision="float32"):
    """The file that the engine loads; converted, if it is not there yet. Throws RuntimeError."""
    if precision == "int8":
        return quantised(engine, python, onnx, models, net)
    if engine == "torchscript":
        return models / f"{net}.pt"
    if engine not in CONVERTERS:
        return onnx / f"{net}.onnx"
    suffix, convert = CONVERTERS[engine]
    dst = models / f"{net}.{suffix}"
    if not dst.exists():
        say(f"converting {net} for {engine}")
        try:
            convert(python, onnx / f"{net}.onnx", dst)
        except (RuntimeError, ValueError, OSError) as fault:
            raise RuntimeError(f"no converter: {last_line(fault)}") from fault
    return dst


def quantised(engine, python, onnx, models, net):
    """The network in 8 bits, calibrated on eight natural images and on the one that it runs: by the engine's own quantiser, or as ONNX
    Runtime's writes it. Throws RuntimeError."""
    script, suffix = QUANTISERS.get(engine, ("quantise_onnx.py", "u8s8.onnx"))
    dst = models / f"{net}.{suffix}"
    if not dst.exists():
        # ncnn's comes from its own file of floats.
        source = model_of(engine, python, onnx, models, net) if engine == "ncnn" else onnx / f"{net}.onnx"
        say(f"quantising {net} by {script}")
        images, _ = natural_images(python, onnx, net)
        call(python, HERE / script, source, f"{images},{image_of(onnx, net)}", dst)
    return dst
