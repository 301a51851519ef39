"""What is read, printed and written: images, element types, names, plans, and options that would do nothing."""
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess

from command import NET, SIZE, Cli, noise, read_npy, write_npy, write_png, write_relu
from models import Profiles

IMAGES = pathlib.Path(__file__).resolve().parent / "images"


def exif(orientation, order):
    """EXIF data with the tag alone."""
    return ((b"II*\0" if order == "<" else b"MM\0*") +
            struct.pack(order + "IHHHIHHI", 8, 1, 0x112, 3, 1, orientation, 0, 0))


# By Exif 2.32, 4.6.4: what the stored image's rows become.
TURNS = {1: lambda rows: rows,
         2: lambda rows: [row[::-1] for row in rows],
         3: lambda rows: [row[::-1] for row in rows[::-1]],
         4: lambda rows: rows[::-1],
         5: lambda rows: list(zip(*rows)),
         6: lambda rows: list(zip(*rows[::-1])),
         7: lambda rows: [row[::-1] for row in list(zip(*rows))[::-1]],
         8: lambda rows: list(zip(*rows))[::-1]}


class Images(Cli):
    def pixels(self, name, c, h, w, *options):
        """What a network of so many channels sees of an image, channel by channel."""
        model = self.folder / "relu.onnx"
        write_relu(model, [1, c, h, w])
        data = self.output(model, "--image", IMAGES / name, "--scale", 1, *options)
        values = [round(value) for (value,) in struct.iter_unpack("<f", data)]
        return [values[i * h * w:(i + 1) * h * w] for i in range(c)]

    def test_kinds_of_png(self):
        self.assertEqual(self.pixels("rgb.png", 3, 4, 4)[1][:5], [80, 87, 94, 101, 85])
        self.assertEqual(self.pixels("grey16.png", 1, 2, 3), [[0, 2, 4, 0, 2, 4]])  # the upper bytes
        self.assertEqual(self.pixels("grey16.png", 3, 2, 3), 3 * [[0, 2, 4, 0, 2, 4]])
        colours = [[255, 0, 0, 9], [0, 255, 0, 9], [0, 0, 255, 9]]
        self.assertEqual(self.pixels("palette_opacity.png", 4, 1, 4), colours + [[0, 128, 255, 255]])
        self.assertEqual(self.pixels("palette_opacity.png", 3, 1, 4), colours)
        self.assertEqual(self.pixels("palette_opacity.png", 1, 1, 4), [[76, 150, 29, 9]])
        self.assertEqual(self.pixels("grey_opacity.png", 4, 1, 2), 3 * [[1, 3]] + [[2, 4]])
        self.assertEqual(self.pixels("interlaced.png", 1, 1, 1), [[7]])

    def test_kinds_of_jpeg(self):
        # Red grows to the right and green downwards; blue is 200. The grey one grows to the right.
        for name in ("rgb.jpg", "progressive.jpg"):
            for channel, expected in zip(self.pixels(name, 3, 32, 32), (128, 128, 200)):
                self.assertAlmostEqual(channel[16 * 32 + 16], expected, delta=8, msg=name)
            self.assertEqual(self.pixels(name, 4, 32, 32)[3], [255] * 1024)
        self.assertAlmostEqual(self.pixels("grey.jpg", 3, 32, 32)[2][16], 128, delta=8)
        # Inverted inks, of which the black one darkens the others to 200 of 255.
        for channel, expected in zip(self.pixels("cmyk.jpg", 3, 32, 32), (100, 100, 157)):
            self.assertAlmostEqual(channel[16 * 32 + 16], expected, delta=8)

    def test_kinds_of_webp(self):
        if "WebP" not in self.succeed("run", "--help"):
            self.refuse(1, ["rgb.webp: a WebP image, which this program was built without libwebp to read"],
                        "run", NET, "--size", SIZE, "--image", IMAGES / "rgb.webp")
            return
        self.assertEqual(self.pixels("rgb.webp", 3, 4, 4), self.pixels("rgb.png", 3, 4, 4))
        self.assertEqual(self.pixels("opacity.webp", 4, 2, 3, "--no-exif"),
                         [[step * i for i in range(6)] for step in (10, 20, 30)] + [[40 * i + 55 for i in range(6)]])
        self.check_turned("opacity.webp", 2, 3, TURNS[6])
        for channel, expected in zip(self.pixels("lossy.webp", 3, 32, 32), (128, 128, 200)):
            self.assertAlmostEqual(channel[16 * 32 + 16], expected, delta=8)
        for name, reason in (("cut_off.webp", "damaged or cut off"), ("animated.webp", "only still ones are read")):
            self.refuse(1, [name, reason], "run", NET, "--size", SIZE, "--image", IMAGES / name)

    def test_sizes(self):
        # The expected files are what torchvision 0.14's Resize(14) and CenterCrop(12) make of the pictures, Resize(17) for
        # the short side, Resize((12, 12)) when stretched, with Pillow 9.4.
        def picture(h, w):
            write_png(self.folder / "picture.png", w, h,
                      [(31 * x * x + 17 * y * (c + 1) + x * y * 7 + c * 91) % 256
                       for y in range(h) for x in range(w) for c in range(3)])
            return self.folder / "picture.png"

        for h, w, name, options in ((47, 29, "tall", []), (23, 64, "wide", []), (9, 7, "larger", []),
                                    (47, 29, "short_side", ["--resize", 17]), (47, 29, "stretched", ["--resize", "stretch"])):
            with self.subTest(name=name):
                expected = self.pixels(f"resized_{name}.png", 3, 12, 12)
                actual = self.pixels(picture(h, w), 3, 12, 12, *options)
                # Machines may round a weight of 22 bits otherwise.
                for channel in range(3):
                    self.assertLessEqual(max(map(abs, map(int.__sub__, actual[channel], expected[channel]))), 1)
        # One of the network's size stays as it is, unless it is asked for.
        whole = self.pixels(picture(12, 12), 3, 12, 12)
        self.assertEqual(whole[1][:3], [(31 * x * x + 91) % 256 for x in range(3)])
        self.assertNotEqual(self.pixels(picture(12, 12), 3, 12, 12, "--resize", "crop"), whole)
        self.refuse(2, ["--resize", "crop, stretch, exact"], "run", NET, "--image", IMAGES / "rgb.png", "--resize", "fit")
        self.refuse(2, ["--resize", "--image"], "run", NET, "--resize", "crop")

    def check_turned(self, file, h, w, turn):
        stored = self.pixels(file, 3, h, w, "--no-exif")
        expected = [turn([channel[y * w:(y + 1) * w] for y in range(h)]) for channel in stored]
        high, wide = len(expected[0]), len(expected[0][0])
        self.assertEqual(self.pixels(file, 3, high, wide), [[value for row in rows for value in row] for rows in expected])

    def test_orientations(self):
        jpeg = (IMAGES / "exif.jpg").read_bytes()
        photo, picture = self.folder / "photo.jpg", self.folder / "picture.png"
        for orientation, turn in TURNS.items():
            with self.subTest(orientation=orientation):
                write_png(picture, 3, 2, range(18), exif(orientation, "<" if orientation % 2 == 0 else ">"))
                self.check_turned(picture, 2, 3, turn)
                photo.write_bytes(jpeg.replace(exif(6, ">"), exif(orientation, "<" if orientation % 3 == 0 else ">")))
                self.check_turned(photo, 16, 24, turn)
        for damaged in (exif(9, "<"), exif(0, "<"), exif(6, ">")[:18], b"MM\0*\xff\xff\xff\xff", b"none"):
            write_png(picture, 3, 2, range(18), damaged)
            self.check_turned(picture, 2, 3, TURNS[1])

    def test_damaged(self):
        for name, reason in (("length_beyond_the_file.png", "chunk"), ("cut_off.png", "end of"),
                             ("immense.png", "100000x100000 is too large"),
                             ("huffman_lengths.jpg", "Huffman"), ("cut_off.jpg", "end of")):
            self.refuse(1, [name, reason], "run", NET, "--size", SIZE, "--image", IMAGES / name)


class Types(Cli):
    def test_float16(self):
        model, values = self.folder / "half.onnx", [abs(value) for value in noise(24)]
        write_relu(model, [1, 2, 3, 4], kind=10)
        write_npy(self.folder / "x.npy", [1, 2, 3, 4], values, "<f2")
        result = self.json("run", model, "--input", self.folder / "x.npy", "--repeat", 1, "--output", self.folder)
        dims, data = read_npy(pathlib.Path(result["outputs"][0]["file"]), "<f2")
        self.assertEqual(dims, [1, 2, 3, 4])
        self.assertEqual(data, struct.pack("<24e", *values))
        write_npy(self.folder / "x.npy", [1, 2, 3, 4], values)
        self.refuse(1, ["half.onnx", "float16", "float32"], "run", model, "--input", self.folder / "x.npy")

    def test_images_of_other_types(self):
        for kind, code, letter in ((10, "<f2", "e"), (11, "<f8", "d")):
            model = self.folder / "other.onnx"
            write_relu(model, [1, 3, 4, 4], kind=kind)
            result = self.json("run", model, "--image", IMAGES / "rgb.png", "--scale", 1, "--repeat", 1, "--output",
                               self.folder)
            _, data = read_npy(pathlib.Path(result["outputs"][0]["file"]), code)
            self.assertEqual(struct.unpack(f"<48{letter}", data)[:3], (0, 7, 14))


class Names(Cli):
    HOSTILE = ("x\x1b]0;title\x07", "layer\n\x1b[2J\x9b", "y\rall is well\u202e")

    def assert_harmless(self, text):
        for c in text:
            self.assertTrue(c == "\n" or c.isprintable(), repr(text))

    def test_names_of_files(self):
        model = self.folder / "hostile.onnx"
        write_relu(model, [1, 3, 8, 8], names=self.HOSTILE)
        for arguments in (["run", model, "--repeat", 1], ["run", model, "--repeat", 1, "--output", self.folder], ["plan", model],
                          ["compare", model, "--rounds", 1], ["trace", model, "--out", self.folder / "t.json"]):
            self.assert_harmless(self.succeed(*arguments))
            self.assert_harmless(self.succeed(*arguments, "--json"))
        self.assertEqual(self.json("run", model, "--repeat", 1)["outputs"][0]["name"], self.HOSTILE[2])
        plan = self.json("plan", model)
        for layer in plan["layers"]:
            self.assert_harmless(self.succeed("explain", model, layer["name"]))
        for arguments in (["explain", model, "none"], ["run", model, "--input", "none=x.npy"], ["plan", "no\x1b[2Jnet"]):
            result = self.call(*arguments)
            self.assertEqual(result.returncode, 1)
            self.assert_harmless(result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_paths_that_are_not_text(self):
        out = os.fsdecode(bytes(self.folder) + b"/t\xff\xe9.json")
        result = self.json("trace", NET, "--size", SIZE, "--out", out)
        self.assertEqual(result["file"], out)
        self.assertTrue(os.path.exists(out))
        text = self.succeed("trace", NET, "--size", SIZE, "--out", out)
        self.assertIn("t\\xff\\xe9.json", text)


class SavedPlans(Cli):
    COMMANDS = (["plan"], ["explain"], ["run"], ["trace", "--out", "t.json"], ["compare"])

    def refuse_plan(self, needles, file):
        for command, *more in self.COMMANDS:
            layer = ["features.0"] if command == "explain" else []
            self.refuse(1, [file.name, *needles], command, NET, *layer, "--size", SIZE, "--plan", file, *more)

    def test_made_for_something_else(self):
        file, saved = self.folder / "plan.json", self.folder / "again.json"
        self.json("plan", NET, "--size", "96", "--save", file)
        self.refuse_plan([NET, "for another network, or other sizes"], file)
        self.refuse(1, ["another network"], "plan", NET, "--size", SIZE, "--plan", file, "--save", saved)
        self.assertFalse(saved.exists())
        self.json("plan", NET, "--size", SIZE, "--save", file)
        good = json.loads(file.read_text())
        for key, words in (("cpu", "for the processor abacus (this is "), ("arch", "for the instruction set abacus"),
                           ("version", "by version abacus of the library"), ("primitives", "from another list of primitives")):
            file.write_text(json.dumps({**good, "key": {**good["key"], key: "abacus"}}))
            self.refuse(1, ["plan.json", NET, words], "plan", NET, "--size", SIZE, "--plan", file)
        file.write_text(json.dumps({**good, "key": {key: "abacus" for key in good["key"]}}))
        self.refuse(1, ["another network", "the processor abacus", "set abacus", "version abacus", "another list"], "run", NET,
                    "--size", SIZE, "--plan", file)
        layer = next(layer for layer in good["layers"] if layer["primitive"])
        layer["primitive"] = "magic"
        file.write_text(json.dumps(good))
        self.refuse_plan(["magic"], file)


class Conflicts(Cli):
    def test_options_that_would_do_nothing(self):
        for option in ("--mean", "--std", "--scale"):
            self.refuse(2, [option, "--image"], "run", NET, option, 1)
        for option, value in (("--costs", "analytical"), ("--solver", "greedy"), ("--precision", "bf16"), ("--max-error", 1), ("--max-arena", "1G"),
                              ("--calibrate", 1)):
            for command, *more in (["plan"], ["explain", "features.0"], ["run"], ["trace", "--out", "t.json"]):
                self.refuse(2, ["--plan", option], command, NET, *more, "--plan", "p.json", option, value)
        self.refuse(2, ["--plan", "--no-strips"], "plan", NET, "--plan", "p.json", "--no-strips")
        # There costs and bounds are those of the others.
        for option, value in (("--calibrate", 1), ("--solver", "greedy")):
            self.refuse(2, ["--plan", option], "compare", NET, "--plan", "p.json", option, value)
        self.refuse(2, ["--plan: no such option of calibrate"], "calibrate", NET, "--plan", "p.json")

    def test_sizes_that_contradict(self):
        model = self.folder / "open.onnx"
        self.json("export", NET, model)
        self.refuse(1, ["--dims", "its batch is 1", "--batch 2"], "plan", model, "--dims", "input=1x3x224x224", "--batch", 2)
        self.refuse(1, ["--dims", "224x224", "--size 64x64"], "plan", model, "--dims", "input=1x3x224x224", "--size", 64)
        write_npy(self.folder / "x.npy", [1, 3, 224, 224], [0] * 3 * 224 * 224)
        self.refuse(1, ["x.npy", "1x3x224x224", "2x3x224x224"], "run", model, "--batch", 2, "--input", self.folder / "x.npy")


class Full(Profiles):
    """Where the standard output takes no more, the exit status says so."""

    def lose(self, *arguments, **how):
        result = subprocess.run([self.PRIMSEL, *map(str, arguments)], stderr=subprocess.PIPE, text=True, check=False,
                                env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}, **how)
        self.assertEqual(result.returncode, 1, arguments)
        self.assertIn("cannot write to the standard output: ", result.stderr, arguments)

    def test_every_command(self):
        fitted, _ = self.fit("linear", about=self.here())
        data, layouts, out = self.folder / "p.csv", self.folder / "l.csv", self.folder / "x"
        net = [NET, "--size", SIZE]
        self.write(self.folder / "few.csv", rows=20, seed=7)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for command in (["--help"], ["--version"], ["run", "--help"]):
                self.lose(*command, stdout=full)
            for command in (["run", *net, "--repeat", 1], ["plan", *net], ["explain", *net, "features.0"],
                            ["trace", *net, "--out", out], ["compare", *net, "--rounds", 1],
                            ["calibrate", *net, "--calibrate", 0.01], ["list", "networks"], ["export", NET, self.folder / "x.onnx"],
                            ["profile", "--out", self.folder / "here.csv", "--networks", "resnet56", "--max-operations", "2e7",
                             "--primitives", "direct-hwc", "--count", 1],
                            ["fit", "--data", data, "--model", "linear", "--out", out],
                            ["evaluate", "--costs", fitted, "--data", data, "--layouts", layouts],
                            ["transfer", "--model", fitted, "--data", self.folder / "few.csv", "--method", "factor",
                             "--out", out]):
                for also in ([], ["--json"]):
                    self.lose(*command, *also, stdout=full)

    def test_a_full_disk_in_the_middle(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        text = self.succeed("plan", "densenet121", "--size", SIZE, "--json")
        self.assertGreater(len(text), 2 * 8192)
        with open(self.folder / "out", "w", encoding="utf-8") as file:
            self.lose("plan", "densenet121", "--size", SIZE, "--json", stdout=file, preexec_fn=limit)
