"""What changes a network, and what is known of one before it runs."""
import numpy as np
import pytest

import primsel


@pytest.fixture(scope="module")
def network():
    return primsel.zoo("squeezenet1_1", size=(64, 64))


def stripes(count):
    """Images of stripes across, or down, in colours."""
    random = np.random.default_rng(3)
    images = np.zeros((count, 3, 32, 32), np.float32)
    labels = [i % 2 for i in range(count)]
    for i, label in enumerate(labels):
        rows = np.arange(32) // 4 % 2 == random.integers(2)
        images[i] = (rows[:, None] if label == 0 else rows[None, :]) * random.random((3, 1, 1))
    return images, labels


def test_training_lowers_the_loss_and_gives_the_same_bits():
    images, labels = stripes(32)
    network = primsel.zoo("resnet56", batch=8)
    losses = []
    trained = [
        primsel.train(network, images, labels, epochs=2, batch=16, learning_rate=0.003, threads=threads,
                      validation=(images, labels), progress=lambda epoch: losses.append((epoch.loss, epoch.accuracy)))
        for threads in (1, 2)
    ]
    assert losses[1][0] < losses[0][0] and 0 <= losses[1][1] <= 1
    assert losses[:2] == losses[2:]
    image = images[:8]
    first, second = (primsel.Engine(each).run(image) for each in trained)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, primsel.Engine(network).run(image))


def test_progress_ends_a_training():
    images, labels = stripes(16)
    seen = []
    primsel.train(primsel.zoo("resnet56"), images, labels, epochs=9, batch=8, progress=lambda epoch: seen.append(epoch) is None and len(seen) < 2)
    assert [epoch.epoch for epoch in seen] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        primsel.train(primsel.zoo("resnet56"), images, labels, batch=8, progress=lambda epoch: 1 // 0)


@pytest.mark.parametrize("change, words", [
    ({"labels": [0, 1]}, "16 images and 2 labels"),
    ({"labels": [-1] * 16}, "a label is -1"),
    ({"labels": [2**31 - 1] * 16}, "a label is 2147483647"),
    ({"images": np.zeros((16, 3, 32), np.float32)}, "not N x C x H x W"),
    ({"images": np.zeros((16, 3, 32, 32))}, "float32"),
    ({"batch": 0}, "batch"),
])
def test_what_cannot_be_trained_is_refused_in_words(change, words):
    images, labels = stripes(16)
    options = {"network": primsel.zoo("resnet56"), "images": images, "labels": labels} | change
    with pytest.raises(primsel.Error, match=words):
        primsel.train(**options)


def test_a_pruned_network_is_predicted_to_be_faster(network):
    whole, half = network.plan().seconds, network.pruned(0.5).plan().seconds
    assert half <= 0.51 * whole
    with pytest.raises(primsel.Error, match="there are l1"):
        network.pruned(criterion="least")


def test_a_quantised_network_runs_in_bytes(network):
    images = np.random.default_rng(4).standard_normal((4, 3, 64, 64), dtype=np.float32)
    engine = primsel.Engine(network.quantised(images), precision="int8")
    exact = primsel.Engine(network)
    for image in images:
        result, expected = engine.run(image[None]), exact.run(image[None])
        assert np.sqrt(np.mean((result - expected) ** 2)) < 0.2 * np.sqrt(np.mean(expected**2))
    assert any("int8" in layer.primitive for layer in engine.plan.layers)
    with pytest.raises(primsel.Error, match="no images"):
        network.quantised(images[:0])


def test_a_forecast_is_what_an_engine_holds(network):
    engine, forecast = primsel.Engine(network), network.forecast()
    assert (forecast.arena_bytes, forecast.packed_bytes) == (engine.arena_bytes, engine.weight_bytes)
    assert forecast.seconds == pytest.approx(engine.plan.seconds, rel=1e-6)
    assert network.forecast_training().bytes > 2 * forecast.bytes
