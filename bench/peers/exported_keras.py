#!/usr/bin/env python3
"""exported_keras.py BACKEND FOLDER: networks as Keras writes them in ONNX by torch, jax or tensorflow, for exporters.py.

FOLDER/keras-BACKEND/NAME.onnx is the file, NAME.failed says why there is none; what is there is kept. Weights are random.
"""
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras  # noqa: E402: it reads the backend's name when it is imported
from keras import layers as L  # noqa: E402
from prepare import tried  # noqa: E402


def conv_norm(x, channels, size=3, strides=1, activation="relu", kind=L.Conv2D):
    x = kind(size, strides, "same", use_bias=False)(x) if kind is L.DepthwiseConv2D else kind(channels, size, strides, "same", use_bias=False)(x)
    return L.Activation(activation)(L.BatchNormalization()(x))


def classified(x, classes=10):
    return L.Dense(classes, activation="softmax")(L.GlobalAveragePooling2D()(x))


def plain(x):
    x = L.MaxPooling2D()(L.Conv2D(16, 3, activation="relu")(x))
    return L.Dense(10)(L.Flatten()(L.Conv2D(24, 3, strides=2, padding="same", activation="relu")(x)))


def residual(x):
    x = conv_norm(x, 16)
    y = L.BatchNormalization()(L.Conv2D(16, 3, padding="same")(conv_norm(x, 16)))
    return classified(L.ReLU()(L.Add()([x, y])))


def separable(x):
    x = conv_norm(x, 16, strides=2, activation="relu6")
    for _ in range(2):
        x = conv_norm(conv_norm(x, 0, activation="relu6", kind=L.DepthwiseConv2D), 24, 1, activation="silu")
    gate = L.Dense(24, activation="sigmoid")(L.Dense(6, activation="relu")(L.GlobalAveragePooling2D(keepdims=True)(x)))
    return classified(L.Multiply()([x, gate]))


def unet(x):
    a = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(16, 3, padding="same", activation="gelu")(L.AveragePooling2D(2)(a))
    b = L.UpSampling2D(interpolation="bilinear")(L.Conv2DTranspose(16, 2, strides=2)(L.MaxPooling2D()(b)))
    return L.Conv2D(2, 1)(L.Concatenate()([a, b]))


def convnext(x):
    x = L.LayerNormalization()(L.Conv2D(16, 4, strides=4)(x))
    y = L.LayerNormalization()(L.DepthwiseConv2D(7, padding="same")(x))
    return classified(L.Add()([x, L.Dense(16)(L.Dense(64, activation="gelu")(y))]))


def attention(x):
    x = L.Reshape((64, 16))(L.Conv2D(16, 4, strides=4)(x))
    return L.Dense(10)(L.GlobalAveragePooling1D()(L.LayerNormalization()(x + L.MultiHeadAttention(2, 8)(x, x))))


def signal(x):
    x = L.Conv1D(16, 5, strides=2, padding="same", activation="tanh")(x)
    x = L.MaxPooling1D()(L.SeparableConv1D(16, 3, padding="same", activation="elu")(x))
    return L.Dense(4)(L.GlobalMaxPooling1D()(x))


def lstm(x):
    return L.Dense(5)(L.LSTM(16, return_sequences=True)(x))


IMAGE, SIGNAL, SEQUENCE = (32, 32, 3), (128, 8), (20, 12)
NETS = {"plain": (plain, IMAGE), "residual": (residual, IMAGE), "separable": (separable, IMAGE), "unet": (unet, IMAGE),
        "convnext": (convnext, IMAGE), "attention": (attention, IMAGE), "signal": (signal, SIGNAL), "lstm": (lstm, SEQUENCE)}


def drawn(model):
    """The model with statistics as training would have left them."""
    random = keras.random.SeedGenerator(1)
    for weight in model.weights:
        if "moving_variance" in weight.path:
            weight.assign(keras.random.uniform(weight.shape, 0.5, 2, seed=random))
        elif "moving_mean" in weight.path:
            weight.assign(keras.random.normal(weight.shape, stddev=0.1, seed=random))
    return model


def main():
    folder = pathlib.Path(sys.argv[2]).resolve() / f"keras-{sys.argv[1]}"
    keras.utils.set_random_seed(1)
    for name, (layers, shape) in NETS.items():
        def write(part):
            image = keras.Input(shape, batch_size=1)
            model = drawn(keras.Model(image, layers(image)))
            model(keras.ops.zeros((1, *shape)))  # else it cannot be exported
            model.export(str(part), format="onnx", verbose=False)

        tried(folder / f"{name}.onnx", write)


if __name__ == "__main__":
    main()
