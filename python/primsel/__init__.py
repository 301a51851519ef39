"""primsel runs convolutional networks on CPUs, each layer by the way that is predicted to be fastest:

    import numpy, primsel

    network = primsel.load("model.onnx")
    engine = primsel.Engine(network)
    scores = engine.run(image)      # an array of float32, NCHW

`arch` is the instruction set that runs.
"""
from ._primsel import *  # noqa: F403
from ._primsel import __version__ as __version__, arch as arch, zoo_names as zoo_names

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
