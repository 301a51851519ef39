"""ONNX files through every command"""
import pathlib
import struct
import unittest

from command import NET, Cli, noise, write_classifier, write_npy, write_png, write_tensor
from runs import RUN_KEYS

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")


class Onnx(Cli):
    def export(self, net, *more):
        file = self.folder / f"{net}.onnx"
        result = self.json("export", net, file, *more)
        self.assertEqual(list(result), ["model", "file", "bytes", "layers", "opset"])
        self.assertEqual(result["bytes"], file.stat().st_size)
        return file

    def test_round_trip(self):
        for net, more in ((NET, ["--size", "64x96"]), ("resnet56", ["--batch", 2]), ("shufflenet_v2_x0_5", [])):
            file = self.export(net, *more)
            result = self.json("run", file, "--repeat", 2)
            self.assertEqual(list(result), RUN_KEYS)
            self.assertEqual(result["model"], str(file))
            self.assert_near(self.output(file), self.output(net, *more), 1e-4)
            same = self.save_plan(file)
            self.assertEqual(self.output(file, "--threads", 1, *same), self.output(file, "--threads", 2, *same))

    def test_every_command(self):
        file = self.export("resnet56")
        saved, trace, again = self.folder / "p.json", self.folder / "t.json", self.folder / "again.onnx"
        plan = self.json("plan", file, "--save", saved)
        layer = next(layer["name"] for layer in plan["layers"] if layer["primitive"])
        self.assertTrue(self.json("explain", file, layer)["candidates"])
        self.json("run", file, "--plan", saved)
        self.json("trace", file, "--out", trace)
        self.json("compare", file, "--rounds", 1)
        self.json("export", file, again)
        self.assert_near(self.output(again), self.output(file), 1e-5)

    def test_open_dimensions(self):
        file = self.export("resnet56")  # without --batch it is left open
        self.assertEqual(self.json("run", file, "--batch", 3, "--repeat", 1)["outputs"][0]["shape"][0], 3)
        write_npy(self.folder / "x.npy", [2, 3, 32, 32], noise(2 * 3 * 32 * 32))
        self.assertEqual(self.json("run", file, "--input", self.folder / "x.npy", "--repeat", 1)["outputs"][0]["shape"][0], 2)

        self.refuse(1, ["x.npy", "2x3x32x32", "3x3x32x32"], "run", file, "--dims", "input=3x3x32x32", "--input",
                    self.folder / "x.npy")
        larger = self.json("run", file, "--dims", "input=2x3x40x48", "--repeat", 1)
        self.assertEqual(larger["outputs"][0]["shape"][0], 2)
        self.refuse(1, ["input", "32", "64", "--dims can change it"], "run", file, "--size", "64")
        self.refuse(1, ["--dims other"], "run", file, "--dims", "other=1x3x32x32")
        self.refuse(1, ["w.safetensors: cannot read"], "run", file, "--weights", "w.safetensors")

    def test_open_sizes_are_chosen(self):
        """Without --size, images have the usual size, and a warning says so."""
        file = self.folder / "open.onnx"
        write_classifier(file, ["N", 3, "H", "W"])
        for command in (["plan"], ["run", "--repeat", 1], ["run", "--repeat", 1, "--batch", 2], ["forecast", "--batch", 2]):
            result = self.call(command[0], file, *command[1:], "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("open.onnx: leaves the size of x open; 224x224 is taken (--size, --dims)", result.stderr)
        write_classifier(file, ["N", 3, 48, "W"])
        self.assertIn("; 48x224 is taken", self.call("run", file, "--repeat", 1).stderr)
        write_npy(self.folder / "x.npy", [1, 3, 48, 20], noise(3 * 48 * 20))
        for sizes in (["--input", self.folder / "x.npy"], ["--dims", "x=1x3x48x20"]):
            result = self.call("run", file, "--repeat", 1, *sizes)
            self.assertEqual((result.returncode, "is taken" in result.stderr), (0, False), result.stderr)

    def test_images(self):
        write_png(self.folder / "p.png", 32, 32, [i % 256 for i in range(32 * 32 * 3)])
        write_png(self.folder / "small.png", 16, 16, [0] * 16 * 16 * 3)
        file = self.export("resnet56")
        plan = ["--solver", "uniform:direct-sum2d"]
        self.assert_near(self.output(file, *plan, "--image", self.folder / "p.png"),
                         self.output("resnet56", *plan, "--image", self.folder / "p.png"), 1e-5)
        self.refuse(1, ["small.png", "1x3x16x16"], "run", file, "--image", self.folder / "small.png", "--resize", "exact")

    @unittest.skipUnless(NODE_TESTS.exists(), "needs Debian's libonnx-testdata")
    def test_weights_as_inputs(self):
        model = NODE_TESTS / "test_basic_conv_with_padding" / "model.onnx"
        write_tensor(self.folder / "x.pb", [1, 1, 5, 5], [float(i) for i in range(25)])
        write_tensor(self.folder / "w.pb", [1, 1, 3, 3], [1.0] * 9)
        sums = [sum(5 * i + j for i in range(y - 1, y + 2) for j in range(x - 1, x + 2) if 0 <= i < 5 and 0 <= j < 5)
                for y in range(5) for x in range(5)]
        for order in ([self.folder / "x.pb", self.folder / "w.pb"],
                      [f"W={self.folder / 'w.pb'}", self.folder / "x.pb"]):
            result = self.output(model, "--input", order[0], "--input", order[1])
            self.assert_near(result, struct.pack("<25f", *sums), 1e-5)
        self.assertEqual(len(self.json("run", model)["outputs"]), 1)
        self.refuse(1, ["no input V", "x, W"], "run", model, "--input", "V=w.pb")

    @unittest.skipUnless(NODE_TESTS.exists(), "needs Debian's libonnx-testdata")
    def test_several_outputs_and_types(self):
        folder = NODE_TESTS / "test_maxpool_with_argmax_2d_precomputed_pads"
        result = self.json("run", folder / "model.onnx", "--input", folder / "test_data_set_0" / "input_0.pb",
                           "--output", self.folder)
        self.assertEqual([output["name"] for output in result["outputs"]], ["y", "z"])
        self.assertIn(b"<f4", pathlib.Path(result["outputs"][0]["file"]).read_bytes()[:64])
        self.assertIn(b"<i8", pathlib.Path(result["outputs"][1]["file"]).read_bytes()[:64])

    def test_bad_files(self):
        file = self.export("resnet56")
        bad = self.folder / "bad.onnx"
        bad.write_bytes(file.read_bytes()[:1000])
        self.refuse(1, ["bad.onnx"], "run", bad)
        bad.write_text("no model at all")
        self.refuse(1, ["bad.onnx"], "plan", bad)
        self.refuse(1, ["missing.onnx", "cannot read"], "run", self.folder / "missing.onnx")
        self.refuse(1, ["cannot write"], "export", NET, self.folder / "none" / "x.onnx")
        self.refuse(1, ["opset 3"], "export", "resnet56", self.folder / "x.onnx", "--opset", 3)


@unittest.skipUnless(onnx, "needs the Python packages onnx, onnxruntime and numpy")
class InOnnxRuntime(Cli):
    """What is written can take the place of the file that was read."""

    def test_outputs_whose_names_are_alike(self):
        """Each has a file of its own."""
        names = ["a/b", "a:b", "a_b", "A_B", "long" * 100, "long" * 100 + "er"]
        nodes = [helper.make_node("Add", ["x", f"c{i}"], [name]) for i, name in enumerate(names)]
        constants = [(f"c{i}", numpy.full(1, i, "f")) for i in range(len(names))]
        file = self.save(nodes, [("x", TensorProto.FLOAT, [1, 2])],
                         [(name, TensorProto.FLOAT, [1, 2]) for name in names], constants)
        numpy.save(self.folder / "x.npy", numpy.zeros((1, 2), "f"))
        run = self.json("run", file, "--input", self.folder / "x.npy", "--repeat", 1, "--output", self.folder / "out")
        self.assertEqual([output["name"] for output in run["outputs"]], names)
        self.assertEqual(len({output["file"].lower() for output in run["outputs"]}), len(names))
        for i, output in enumerate(run["outputs"]):
            self.assertTrue((numpy.load(output["file"]) == i).all())

    def save(self, nodes, inputs, outputs, constants=(), opset=17):
        def infos(values):
            return [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in values]
        graph = helper.make_graph(nodes, "graph", infos(inputs), infos(outputs),
                                  [numpy_helper.from_array(value, name) for name, value in constants])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        helper.set_model_props(model, {"names": "cat, dog"})
        onnx.checker.check_model(model)
        file = self.folder / "model.onnx"
        onnx.save(model, file)
        return file

    @staticmethod
    def signature(file):
        model = onnx.load(file)
        return ([(v.name, v.type) for v in sorted(model.graph.input, key=lambda v: v.name)],
                [(v.name, v.type) for v in model.graph.output], [(p.key, p.value) for p in model.metadata_props])

    @staticmethod
    def run_file(file):
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        kinds = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(double)": "f8", "tensor(int64)": "i8"}
        feeds = {}
        for value in session.get_inputs():
            dims = [dim if isinstance(dim, int) else 2 for dim in value.shape]
            feeds[value.name] = numpy.random.default_rng(1).normal(size=dims).astype(kinds[value.type])
        return session.run(None, feeds)

    def check_exported(self, file, *more):
        out = self.folder / "out.onnx"
        self.json("export", file, out, *more)
        onnx.checker.check_model(out, full_check=True)
        self.assertEqual(self.signature(out), self.signature(file))
        for mine, right in zip(self.run_file(out), self.run_file(file), strict=True):
            self.assertEqual((mine.dtype, mine.shape), (right.dtype, right.shape))
            numpy.testing.assert_allclose(mine, right, rtol=2e-3 if mine.dtype == numpy.float16 else 1e-5, atol=1e-5)

    def test_top_k(self):
        node = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=1)
        values, places = ("values", TensorProto.FLOAT, [2, 3, 5]), ("places", TensorProto.INT64, [2, 3, 5])
        for outputs in ([values], [places], [values, places], [places, values]):
            file = self.save([node], [("x", TensorProto.FLOAT, [2, 7, 5])], outputs, [("k", numpy.array([3]))])
            self.check_exported(file)

    def test_names_types_and_dimensions(self):
        shape = [("shape", numpy.array([1, 9, 3]))]
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "shape"], ["scores"])]
        for kind in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE):
            self.check_exported(self.save(nodes, [("x", kind, [1, 3, 9])], [("scores", kind, [1, 9, 3])], shape))
        for dims in ([4], [1, 4], [3, 4], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 2], ["N", 4], ["N", 3, 8, 8], [None, 6, 2]):
            for name in ("y", "x_output", "Relu"):
                node = helper.make_node("Relu", ["x"], [name], name="y")
                self.check_exported(self.save([node], [("x", TensorProto.FLOAT, dims)], [(name, TensorProto.FLOAT, dims)]))

    def test_more_inputs_and_results(self):
        x = [("x", TensorProto.FLOAT, [1, 4])]
        nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Relu", ["x"], ["y"]),
                 helper.make_node("Greater", ["x", "y"], ["less"]), helper.make_node("ArgMax", ["x"], ["first"], axis=1)]
        results = [("sum", TensorProto.FLOAT, []), ("y", TensorProto.FLOAT, [1, 4]), ("less", TensorProto.BOOL, [1, 4]),
                   ("first", TensorProto.INT64, [1, 1])]
        self.check_exported(self.save(nodes, x, results))
        self.check_exported(self.save(nodes[1:2], x + [("unread", TensorProto.INT64, [1, None])], results[1:2]))
        five = [("five", numpy.array([5]))]
        node = helper.make_node("Slice", ["x", "five", "five"], ["nothing"])
        self.check_exported(self.save([node], [("x", TensorProto.FLOAT, [10])], [("nothing", TensorProto.FLOAT, [0])], five))

    def test_pruned(self):
        random = numpy.random.default_rng(2)
        constants = [("a.weight", random.normal(size=(16, 3, 3, 3)).astype("f4")),
                     ("b.weight", random.normal(size=(8, 16, 1, 1)).astype("f4")), ("shape", numpy.array([0, 4, -1]))]
        nodes = [helper.make_node("Conv", ["image", "a.weight"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["r"]),
                 helper.make_node("Conv", ["r", "b.weight"], ["b"]), helper.make_node("Reshape", ["b", "shape"], ["scores"])]
        file = self.save(nodes, [("image", TensorProto.FLOAT, ["N", 3, 8, 8])], [("scores", TensorProto.FLOAT, ["N", 4, 128])],
                         constants)
        out = self.folder / "out.onnx"
        self.json("prune", file, "--filters", 0.5, "--out", out)
        onnx.checker.check_model(out, full_check=True)
        self.assertEqual(self.signature(out), self.signature(file))
        self.assertLess(out.stat().st_size, file.stat().st_size)
        (scores,) = self.run_file(out)
        self.assertEqual(scores.shape, (2, 4, 128))

    def test_open_sizes(self):
        """Heights and widths that are open stay so, where nothing depends on them."""
        random = numpy.random.default_rng(3)
        constants = [("a.weight", random.normal(size=(16, 3, 3, 3)).astype("f4")),
                     ("b.weight", random.normal(size=(4, 19, 1, 1)).astype("f4")), ("scales", numpy.array([1, 1, 2, 2], "f4")),
                     ("shape", numpy.array([0, 4, 256]))]
        nodes = [helper.make_node("Conv", ["image", "a.weight"], ["a"], name="a", pads=[1, 1, 1, 1]),
                 helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("Relu", ["p"], ["r"]), helper.make_node("Resize", ["r", "", "scales"], ["u"], mode="linear"),
                 helper.make_node("Concat", ["u", "image"], ["c"], axis=1),
                 helper.make_node("Conv", ["c", "b.weight"], ["scores"], name="b")]
        image, scores = ["N", 3, "H", "W"], ["N", 4, "H", "W"]
        out = self.folder / "out.onnx"

        def run(path, h, w):
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            return session.run(None, {"image": numpy.random.default_rng(4).normal(size=(2, 3, h, w)).astype("f4")})[0]

        file = self.save(nodes, [("image", TensorProto.FLOAT, image)], [("scores", TensorProto.FLOAT, scores)], constants[:3])
        for command in (["export", file, out], ["prune", file, "--filters", 0.5, "--out", out]):
            self.json(*command, "--size", "16x16")
            onnx.checker.check_model(out, full_check=True)
            self.assertEqual(self.signature(out), self.signature(file))
            for h, w in ((16, 16), (24, 10)):
                expected = run(file, h, w)
                self.assertEqual(run(out, h, w).shape, expected.shape)
                if command[0] == "export":
                    numpy.testing.assert_allclose(run(out, h, w), expected, rtol=1e-4, atol=1e-4)
        # A reshape to a number of pixels fixes them.
        file = self.save(nodes + [helper.make_node("Reshape", ["scores", "shape"], ["rows"])],
                         [("image", TensorProto.FLOAT, image)], [("rows", TensorProto.FLOAT, ["N", 4, "pixels"])], constants)
        self.json("export", file, out, "--size", "16x16")
        (value,) = onnx.load(out).graph.input
        self.assertEqual([dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim], ["N", 3, 16, 16])

    def between(self, nodes, constants, channels, image=(1, 3, 8, 8), opset=21):
        """A convolution of 16 filters, of which half are zero, layers that read its result a and make r, and another."""
        random = numpy.random.default_rng(5)
        kernel = random.normal(size=(16, 3, 3, 3)).astype("f4")
        kernel[[i for i in range(16) if i // 4 % 2 == 0]] = 0  # whole groups of 4
        constants = [("a.weight", kernel), ("b.weight", random.normal(size=(2, channels, 3, 3)).astype("f4")), *constants]
        nodes = [helper.make_node("Conv", ["image", "a.weight"], ["a"], name="a", pads=[1, 1, 1, 1]), *nodes,
                 helper.make_node("Conv", ["r", "b.weight"], ["scores"], name="b", pads=[1, 1, 1, 1])]
        return self.save(nodes, [("image", TensorProto.FLOAT, image)], [("scores", TensorProto.FLOAT, [1, 2, None, None])],
                         constants, opset)

    def test_pruned_through_each_layer(self):
        """Without the filters that are zero, a network computes what the whole one does."""
        random = numpy.random.default_rng(6)
        def draw(*dims):
            return random.normal(size=dims).astype("f4")
        def node(kind, *inputs, **fields):
            return helper.make_node(kind, ["a", *inputs], ["r"], name="layer", **fields)
        bias = numpy.where(numpy.arange(16) // 4 % 2 == 0, 0, draw(16)).astype("f4")
        networks = {
            "slopes a channel": ([node("PRelu", "s")], [("s", draw(16, 1, 1))], 16),
            "slopes an element": ([node("PRelu", "s")], [("s", draw(16, 8, 8))], 16),
            "scales an element": ([node("Mul", "s")], [("s", draw(1, 16, 8, 8))], 16),
            "transposed convolution": ([node("ConvTranspose", "s", strides=[2, 2])], [("s", draw(16, 16, 2, 2))], 16),
            "group normalization": ([node("GroupNormalization", "s", "t", num_groups=4)], [("s", draw(16)), ("t", bias)], 16),
            "depth to space": ([node("DepthToSpace", blocksize=2, mode="CRD")], [], 4),
            "space to depth": ([node("SpaceToDepth", blocksize=2)], [], 64),
        }
        for name, (nodes, constants, channels) in networks.items():
            with self.subTest(name):
                file, out = self.between(nodes, constants, channels), self.folder / "out.onnx"
                (expected,) = self.run_file(file)
                result = self.json("prune", file, "--sparsity", 0.5, "--out", out)
                self.assertEqual({layer["name"]: layer["left"] for layer in result["layers"]}["a"], 8)
                onnx.checker.check_model(out, full_check=True)
                if name != "transposed convolution":  # its own filters go, which are not zero
                    (scores,) = self.run_file(out)
                    numpy.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)

    def test_prune_says_what_holds_filters_back(self):
        file = self.between([helper.make_node("Softmax", ["a"], ["r"], name="layer", axis=1)], [], 16)
        why = "a: 16 of 16 stay: layer layer (softmax) mixes channels"
        out = self.folder / "out.onnx"
        for goal in (["--sparsity", 0.5], ["--filters", 0.5], ["--flops", 0.5], ["--latency", 0.5], ["--group", "a=0.5"]):
            self.refuse(1, ["no filter of", why], "prune", file, *goal, "--out", out)
            self.assertFalse(out.exists())
