"""Networks, engines, plans and traces."""
import gc
import re
import sys
import threading
import time

import numpy as np
import pytest

import primsel


@pytest.fixture(scope="module")
def network():
    return primsel.zoo("squeezenet1_1", size=(64, 48), batch=2)


@pytest.fixture(scope="module")
def engine(network):
    return primsel.Engine(network)


@pytest.fixture
def image():
    return np.random.default_rng(1).standard_normal((2, 3, 64, 48), dtype=np.float32)


def test_ports(network, engine):
    assert [(port.name, port.shape) for port in network.inputs] == [(port.name, port.shape) for port in engine.inputs]
    assert engine.inputs[0].shape == (2, 3, 64, 48)
    assert engine.outputs[0].shape == (2, 1000, 1, 1)
    assert "features.0" in network.layers
    assert engine.weight_bytes > 1_000_000 and engine.arena_bytes > 0 and engine.threads == 1


def test_a_run_gives_the_same_bits_into_new_and_given_arrays(engine, image):
    new = engine.run(image)
    assert new.shape == (2, 1000, 1, 1) and new.dtype == np.float32
    given = np.full_like(new, np.nan)
    assert engine(image, out=given) is given
    assert np.array_equal(new, given)
    image.flags.writeable = False
    assert np.array_equal(engine.run(image), new)


def test_results_are_those_of_onnx_runtime():
    onnxruntime = pytest.importorskip("onnxruntime")
    network = primsel.zoo("mobilenet_v2")
    session = onnxruntime.InferenceSession(network.to_onnx(), providers=["CPUExecutionProvider"])
    image = np.random.default_rng(2).standard_normal((1, 3, 224, 224), dtype=np.float32)
    (expected,) = session.run(None, {session.get_inputs()[0].name: image})
    result = primsel.Engine(network, threads=2).run(image)
    assert np.abs(result.reshape(expected.shape) - expected).max() < 1e-3 * np.abs(expected).max()


def test_an_onnx_file_is_the_network_that_was_written(network, engine, image, tmp_path):
    path = tmp_path / "network.onnx"
    path.write_bytes(network.to_onnx())
    for again in (primsel.load(str(path), batch=2), primsel.parse(path.read_bytes(), batch=2)):
        assert again.inputs[0].shape == network.inputs[0].shape
        assert np.allclose(primsel.Engine(again).run(image), engine.run(image), atol=1e-5)


def test_weights_of_a_file(network, image, tmp_path):
    path = str(tmp_path / "weights.safetensors")
    primsel.zoo("squeezenet1_1", seed=5).save_weights(path)
    load = lambda **options: primsel.Engine(primsel.zoo("squeezenet1_1", size=(64, 48), batch=2, **options)).run(image)
    assert np.array_equal(load(weights=path), load(seed=5))
    assert not np.array_equal(load(weights=path), load())


@pytest.mark.parametrize("change, words", [
    (lambda image: image.astype(np.float64), "not of float32"),
    (lambda image: np.asfortranarray(image), "row-major"),
    (lambda image: image[:, :, ::2], "row-major"),
    (lambda image: image[:1], "1x3x64x48.*2x3x64x48"),
    (lambda image: image.reshape(-1), "it is 2x3x64x48"),
    (lambda image: "image", "not an array"),
    (lambda image: None, "not an array"),
    (lambda image: np.frombuffer(b"\0" * (image.nbytes + 1), np.uint8)[1:].view(np.float32).reshape(image.shape), "aligned"),
])
def test_arrays_that_do_not_fit_are_refused(engine, image, change, words):
    with pytest.raises(primsel.Error, match=words):
        engine.run(change(image))


def test_other_refusals(engine, image, network):
    assert issubclass(primsel.Error, ValueError)
    with pytest.raises(primsel.Error, match="0 inputs"):
        engine.run()
    with pytest.raises(primsel.Error, match="more inputs"):
        engine.run(image, image)
    read_only = np.zeros((2, 1000, 1, 1), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(primsel.Error, match="written to"):
        engine.run(image, out=read_only)
    with pytest.raises(primsel.Error, match="overlap"):
        engine.run(image, out=image.reshape(-1)[:2000].reshape(2, 1000, 1, 1))
    with pytest.raises(primsel.Error, match="no network is named nothing"):
        primsel.zoo("nothing")
    with pytest.raises(primsel.Error, match="/no/file.onnx"):
        primsel.load("/no/file.onnx")
    with pytest.raises(primsel.Error, match="not an ONNX model"):
        primsel.parse(b"\xff\xff\xff\xff")
    with pytest.raises(primsel.Error, match="precision f128"):
        primsel.Engine(network, precision="f128")
    with pytest.raises(primsel.Error, match="arena"):
        primsel.Engine(network, max_arena=1)
    with pytest.raises(TypeError):
        primsel.Engine(None)


def test_views_are_released(engine, image):
    before = sys.getrefcount(image)
    out = np.empty((2, 1000, 1, 1), np.float32)
    for _ in range(10):
        engine.run(image, out=out)
        with pytest.raises(primsel.Error):
            engine.run(image, image)
    gc.collect()
    assert sys.getrefcount(image) == before
    out.resize(1, refcheck=False)  # fails as long as somebody looks at it


def test_threads_share_an_engine(engine):
    images = [np.full((2, 3, 64, 48), i, np.float32) for i in range(4)]
    alone = [engine.run(image) for image in images]
    wrong = []

    def run(i):
        for _ in range(5):
            if not np.array_equal(engine.run(images[i]), alone[i]):
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_others_run_during_a_run():
    engine = primsel.Engine(primsel.zoo("resnet18"))
    image = np.zeros((1, 3, 224, 224), np.float32)
    count, done = [0], threading.Event()

    def others():
        while not done.is_set():
            count[0] += 1
            time.sleep(0)  # gives the lock up

    thread = threading.Thread(target=others)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # the lock changes hands only where it is given up
    try:
        thread.start()
        counted = 0
        for _ in range(10):
            before = count[0]
            engine.run(image)
            counted += count[0] - before
        assert counted > 0
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


def test_plan(network, engine, tmp_path):
    plan = network.plan()
    assert plan.seconds > 0 and [layer.name for layer in plan.layers] == [layer.name for layer in engine.plan.layers]
    assert "ms predicted by" in str(plan)
    assert plan.arch in str(plan)
    assert plan._repr_svg_().startswith("<svg") and plan.to_dot().startswith("digraph")
    layer = plan.explain("features.0")
    assert layer.candidates[0].primitive == layer.primitive or layer.candidates
    assert "  *" in str(layer) and layer._repr_html_().startswith("<pre>")
    assert any(candidate.refusal for candidate in layer.candidates)
    with pytest.raises(primsel.Error, match="no layer is named nowhere"):
        plan.explain("nowhere")
    path = str(tmp_path / "plan.json")
    plan.save(path)
    again = primsel.Plan.read(path, network)
    assert again.to_json() == plan.to_json()
    image = np.ones((2, 3, 64, 48), np.float32)
    assert np.array_equal(primsel.Engine(network, plan=again).run(image), primsel.Engine(network, plan=plan).run(image))


def test_a_plan_of_another_network_is_refused(network):
    with pytest.raises(primsel.Error):
        primsel.Engine(primsel.zoo("resnet56"), plan=network.plan())


def test_trace(engine, image):
    trace = engine.trace(image, runs=3)
    assert len(trace.steps) > 20 and trace.seconds > 0
    assert sum(step.seconds for step in trace.steps) < 3 * trace.seconds
    assert trace._repr_svg_().startswith("<svg")
    assert '"traceEvents"' in trace.to_chrome_trace()


def test_everything_has_a_repr(network, engine, image):
    for value in (network, network.inputs[0], engine.plan, engine.explain("features.0"),
                  engine.explain("features.0").candidates[0], engine.trace(image, runs=1),
                  engine.trace(image, runs=1).steps[0]):
        assert re.match(type(value).__name__ + r"\(.+\)$", repr(value))


def test_stubs_name_what_there_is():
    import pathlib
    stub = (pathlib.Path(primsel.__file__).parent / "_primsel.pyi").read_text()
    compile(stub, "_primsel.pyi", "exec")
    assert (pathlib.Path(primsel.__file__).parent / "py.typed").exists()
    for name in primsel.__all__:
        assert name in stub or name == "__version__"
