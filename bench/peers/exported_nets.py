#!/usr/bin/env python3
"""exported_nets.py FOLDER [GROUP...]: networks as PyTorch's exporters write them, with random weights, for exporters.py.

FOLDER/GROUP/NAME.onnx is the file, FOLDER/GROUP/NAME.failed says why the exporter wrote none; what is there is kept. Small networks have
one idea each and are written by both exporters; of timm and torchvision there is one network of each family. Needs torch, torchvision,
timm and onnxscript.
"""
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from prepare import tried


class Net(nn.Module):
    """A function of modules and inputs."""

    def __init__(self, function, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.function = function

    def forward(self, *inputs):
        return self.function(self, *inputs)


def stem(channels=16):
    return nn.Conv2d(3, channels, 3, 2, 1)


def head(channels, classes=10):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def between(*layers, channels=16):
    """The layers between a convolution and a classifier."""
    return nn.Sequential(stem(), *layers, head(channels))


def through(function, channels=16, **modules):
    """A function between a convolution and a classifier."""
    return between(Net(function, **modules), channels=channels)


class Attention(nn.Module):
    def __init__(self, width, heads, function):
        super().__init__()
        self.qkv, self.out, self.heads, self.function = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, function

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(self.function(q, k, v).transpose(1, 2).reshape(n, t, w))


def by_hand(q, k, v):
    return ((q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5).softmax(-1) @ v


def by_einsum(q, k, v):
    return torch.einsum("bhqk,bhkd->bhqd", torch.einsum("bhqd,bhkd->bhqk", q, k).softmax(-1), v)


class StandardisedConv(nn.Conv2d):
    def forward(self, x):
        mean, deviation = self.weight.mean((1, 2, 3), keepdim=True), self.weight.std((1, 2, 3), keepdim=True)
        return self._conv_forward(x, (self.weight - mean) / (deviation + 1e-5), self.bias)


class CondConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.route, self.weight = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16 * 16 * 9) * 0.05)

    def forward(self, x):
        weight = self.route(x.mean((2, 3))).sigmoid() @ self.weight
        return F.conv2d(x, weight.reshape(16, 16, 3, 3), padding=1)


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, padding=1)
        self.up, self.d = up, nn.Conv2d(24, 2, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.a(x))
        return self.d(torch.cat([a, self.up(F.relu(self.c(F.relu(self.b(a)))))], 1))


class LSTMTagger(nn.Module):
    def __init__(self, kind=nn.LSTM, **options):
        super().__init__()
        self.net = kind(12, 16, batch_first=True, **options)
        self.out = nn.Linear(16 * (2 if options.get("bidirectional") else 1), 5)

    def forward(self, x):
        return self.out(self.net(x)[0])


def window(x, size=4):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // size, size, w // size, size).permute(0, 2, 4, 3, 5, 1).reshape(-1, size * size, c)


def windows_back(x, n, h, w, size=4):
    return x.reshape(n, h // size, w // size, size, size, -1).permute(0, 5, 1, 3, 2, 4).reshape(n, -1, h, w)


def shuffle(x, groups=4):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


def tokens(x):
    return x.flatten(2).transpose(1, 2)


def signals(*layers, classes=10, channels=16):
    return nn.Sequential(nn.Conv1d(8, 16, 5, 2, 2), *layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, classes))


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


IMAGE, SIGNAL, SEQUENCE, VECTOR = (1, 3, 32, 32), (1, 8, 128), (1, 20, 12), (1, 24)
LSTM_STATES = [(1, 20, 12), (1, 1, 16), (1, 1, 16)]


def small():
    """{name: (function that makes it, shapes of its inputs)}"""
    image = {
        "plain": lambda: between(nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)),
        "batch_norm": lambda: between(nn.BatchNorm2d(16), nn.ReLU()),
        "relu6": lambda: between(nn.ReLU6()),
        "leaky_relu": lambda: between(nn.LeakyReLU(0.1)),
        "prelu": lambda: between(nn.PReLU(16)),
        "gelu": lambda: between(nn.GELU()),
        "gelu_tanh": lambda: between(nn.GELU("tanh")),
        "silu": lambda: between(nn.SiLU()),
        "mish": lambda: between(nn.Mish()),
        "hardswish": lambda: between(nn.Hardswish(), nn.Hardsigmoid()),
        "elu_selu_celu": lambda: between(nn.ELU(), nn.SELU(), nn.CELU()),
        "softplus": lambda: between(nn.Softplus(), nn.Softsign()),
        "shrink": lambda: between(nn.Softshrink(0.1), nn.Hardshrink(0.1), nn.Tanhshrink()),
        "log_sigmoid": lambda: between(nn.LogSigmoid()),
        "glu": lambda: between(nn.GLU(1), channels=8),
        "group_norm": lambda: between(nn.GroupNorm(4, 16)),
        "instance_norm": lambda: between(nn.InstanceNorm2d(16, affine=True)),
        "layer_norm_2d": lambda: between(LayerNorm2d(16), nn.GELU()),
        "layer_norm_image": lambda: between(nn.LayerNorm([16, 16, 16])),
        "rms_norm": lambda: nn.Sequential(stem(), Net(lambda m, x: tokens(x)), nn.RMSNorm(16), nn.Linear(16, 4)),
        "response_norm": lambda: between(nn.LocalResponseNorm(5)),
        "l2_normalise": lambda: through(lambda m, x: F.normalize(x, dim=1)),
        "grouped": lambda: between(nn.Conv2d(16, 16, 3, padding=1, groups=4)),
        "depthwise": lambda: between(nn.Conv2d(16, 16, 5, padding=2, groups=16), nn.Conv2d(16, 16, 1)),
        "dilated": lambda: between(nn.Conv2d(16, 16, 3, padding=2, dilation=2)),
        "reflect_conv": lambda: between(nn.Conv2d(16, 16, 3, padding=1, padding_mode="reflect")),
        "circular_conv": lambda: between(nn.Conv2d(16, 16, 3, padding=1, padding_mode="circular")),
        "replicate_pad": lambda: between(nn.ReplicationPad2d(2)),
        "conv_transpose": lambda: between(nn.ConvTranspose2d(16, 8, 4, 2, 1), channels=8),
        "pixel_shuffle": lambda: between(nn.PixelShuffle(2), channels=4),
        "pixel_unshuffle": lambda: between(nn.PixelUnshuffle(2), channels=64),
        "upsample_nearest": lambda: between(nn.Upsample(scale_factor=2)),
        "upsample_bilinear": lambda: between(nn.Upsample(scale_factor=2, mode="bilinear")),
        "upsample_bicubic": lambda: between(nn.Upsample(size=(20, 24), mode="bicubic")),
        "downsample_antialias": lambda: through(lambda m, x: F.interpolate(x, (7, 9), mode="bilinear", antialias=True)),
        "align_corners": lambda: through(lambda m, x: F.interpolate(x, (25, 25), mode="bilinear", align_corners=True)),
        "max_pool": lambda: between(nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, ceil_mode=True)),
        "avg_pool": lambda: between(nn.AvgPool2d(3, 2, 1, count_include_pad=False)),
        "adaptive_pool": lambda: between(nn.AdaptiveAvgPool2d(4), nn.AdaptiveMaxPool2d(2)),
        "lp_pool": lambda: between(nn.LPPool2d(2, 2)),
        "gem_pool": lambda: nn.Sequential(stem(), Net(lambda m, x: x.clamp(min=1e-6).pow(3).mean((2, 3)).pow(1 / 3)), nn.Linear(16, 4)),
        "std_pool": lambda: nn.Sequential(stem(), Net(lambda m, x: torch.cat([x.mean((2, 3)), x.std((2, 3))], 1)), nn.Linear(32, 4)),
        "residual": lambda: through(lambda m, x: F.relu(m.b(F.relu(m.a(x))) + x), a=nn.Conv2d(16, 16, 3, padding=1), b=nn.Conv2d(16, 16, 3, padding=1)),
        "dense_concat": lambda: through(lambda m, x: torch.cat([x, m.a(F.relu(x))], 1), 24, a=nn.Conv2d(16, 8, 3, padding=1)),
        "squeeze_excite": lambda: through(lambda m, x: x * m.b(F.relu(m.a(x.mean((2, 3), keepdim=True)))).sigmoid(), a=nn.Conv2d(16, 4, 1), b=nn.Conv2d(4, 16, 1)),
        "channel_shuffle": lambda: between(Net(lambda m, x: shuffle(x)), nn.Conv2d(16, 16, 1)),
        "channel_shuffle_module": lambda: between(nn.ChannelShuffle(4), nn.Conv2d(16, 16, 1)),
        "split": lambda: through(lambda m, x: torch.cat([m.a(x.chunk(2, 1)[0]), x.chunk(2, 1)[1]], 1), a=nn.Conv2d(8, 8, 3, padding=1)),
        "focus": lambda: nn.Sequential(Net(lambda m, x: torch.cat([x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)], 1)), nn.Conv2d(12, 16, 3), head(16)),
        "roll": lambda: through(lambda m, x: torch.roll(x, (2, 3), (2, 3))),
        "flip": lambda: through(lambda m, x: x.flip(3) + x.flip(2)),
        "layer_scale": lambda: through(lambda m, x: x + m.gamma.weight.reshape(1, -1, 1, 1) * m.a(x), a=nn.Conv2d(16, 16, 7, padding=3, groups=16), gamma=nn.Linear(16, 1)),
        "standardised_weight": lambda: between(StandardisedConv(16, 16, 3, padding=1), nn.GELU()),
        "weight_norm": lambda: between(nn.utils.parametrizations.weight_norm(nn.Conv2d(16, 16, 3, padding=1))),
        "spectral_norm": lambda: between(nn.utils.parametrizations.spectral_norm(nn.Conv2d(16, 16, 3, padding=1))),
        "cond_conv": lambda: between(CondConv()),
        "unet_nearest": lambda: UNet(nn.Upsample(scale_factor=2)),
        "unet_transposed": lambda: UNet(nn.ConvTranspose2d(16, 16, 2, 2)),
        "window_attention": lambda: through(lambda m, x: windows_back(m.a(window(x)), 1, 16, 16), a=Attention(16, 2, by_hand)),
        "vit": lambda: nn.Sequential(nn.Conv2d(3, 32, 8, 8), Net(lambda m, x: tokens(x)), nn.LayerNorm(32), Attention(32, 4, F.scaled_dot_product_attention), Net(lambda m, x: x.mean(1)), nn.Linear(32, 10)),
        "attention_by_hand": lambda: nn.Sequential(nn.Conv2d(3, 32, 8, 8), Net(lambda m, x: tokens(x)), Attention(32, 4, by_hand)),
        "attention_einsum": lambda: nn.Sequential(nn.Conv2d(3, 32, 8, 8), Net(lambda m, x: tokens(x)), Attention(32, 4, by_einsum)),
        "encoder_layer": lambda: nn.Sequential(nn.Conv2d(3, 32, 8, 8), Net(lambda m, x: tokens(x)), nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)),
        "spatial_transformer": lambda: Net(lambda m, x: F.grid_sample(x, F.affine_grid(m.a(x).reshape(-1, 2, 3), [1, 3, 32, 32], align_corners=False), align_corners=False), a=nn.Sequential(stem(8), head(8, 6))),
        "top_k": lambda: nn.Sequential(stem(), head(16, 50), Net(lambda m, x: torch.topk(x, 5)[0])),
        "arg_max": lambda: nn.Sequential(stem(), Net(lambda m, x: x.argmax(1).float())),
        "where_mask": lambda: through(lambda m, x: torch.where(x > 0, x, x.masked_fill(x < -0.5, -0.5))),
        "cum_sum": lambda: through(lambda m, x: x.cumsum(3)),
        "unfold": lambda: through(lambda m, x: F.unfold(x, 3, padding=1).reshape(1, 16, 9, 16, 16).mean(2)),
        "dynamic_size": lambda: through(lambda m, x: F.interpolate(m.a(x), x.shape[2:]), a=nn.Conv2d(16, 16, 3, 2, 1)),
        "yolo_head": lambda: nn.Sequential(stem(), nn.Conv2d(16, 3 * 7, 1), Net(lambda m, x: torch.cat([x.reshape(1, 3, 7, 16, 16).permute(0, 1, 3, 4, 2)[..., :2].sigmoid() * 8, x.reshape(1, 3, 7, 16, 16).permute(0, 1, 3, 4, 2)[..., 2:].exp().clamp(max=50)], -1).reshape(1, -1, 7))),
    }
    other = {
        "conv1d": (lambda: signals(nn.ReLU(), nn.BatchNorm1d(16)), [SIGNAL]),
        "conv1d_causal": (lambda: signals(nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(16, 16, 3, dilation=2), nn.Tanh()), [SIGNAL]),
        "conv_transpose_1d": (lambda: signals(nn.LeakyReLU(0.1), nn.ConvTranspose1d(16, 8, 16, 8, 4), channels=8), [SIGNAL]),
        "pool_1d": (lambda: signals(nn.MaxPool1d(3, 2), nn.AvgPool1d(2)), [SIGNAL]),
        "mlp": (lambda: nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 10), nn.Softmax(1)), [VECTOR]),
        "bilinear": (lambda: Net(lambda m, x, y: m.a(x, y), a=nn.Bilinear(24, 12, 6)), [VECTOR, (1, 12)]),
        "lstm": (LSTMTagger, [SEQUENCE]),
        "lstm_two_ways": (lambda: LSTMTagger(bidirectional=True), [SEQUENCE]),
        "lstm_two_layers": (lambda: LSTMTagger(num_layers=2), [SEQUENCE]),
        "lstm_states": (lambda: Net(lambda m, x, h, c: [m.a(x, (h, c))[0], *m.a(x, (h, c))[1]], a=nn.LSTM(12, 16, batch_first=True)), LSTM_STATES),
        "gru": (lambda: LSTMTagger(nn.GRU), [SEQUENCE]),
        "rnn": (lambda: LSTMTagger(nn.RNN), [SEQUENCE]),
        "two_inputs": (lambda: Net(lambda m, x, y: m.b(torch.cat([m.a(x), y], 1)), a=nn.Sequential(stem(), head(16, 8)), b=nn.Linear(32, 5)), [IMAGE, VECTOR]),
        "two_outputs": (lambda: Net(lambda m, x: [m.b(m.a(x)), m.c(m.a(x))], a=stem(), b=head(16, 4), c=nn.Conv2d(16, 4, 1)), [IMAGE]),
    }
    return {name: (make, [IMAGE]) for name, make in image.items()} | other


TIMM = """convnext_atto convnextv2_atto edgenext_xx_small efficientnet_b0 efficientnetv2_rw_t efficientformerv2_s0 efficientvit_b0
fastvit_t8 ghostnetv3_100 hgnetv2_b0 inception_next_atto levit_128s mixer_s32_224 mobilenetv4_conv_small mobileone_s0 mobilevit_xxs
mobilevitv2_050 eca_nfnet_l0 poolformer_s12 regnety_002 repvit_m0_9 resnest14d rexnet_100 starnet_s1 swin_tiny_patch4_window7_224
vit_tiny_patch16_224""".split()


def timm_net(name):
    def make():
        import timm

        return timm.create_model(name, exportable=True)

    def size():
        import timm

        return timm.get_pretrained_cfg(name, allow_unregistered=True).input_size[-1]

    return make, size


def first(name, size=128, part=None, **options):
    """A network of torchvision, or a result of it."""
    def make():
        from torchvision import models

        families = models, models.segmentation, models.detection
        net = next(getattr(each, name) for each in families if hasattr(each, name))
        options_ = {"weights": None} | ({"weights_backbone": None} if part else {}) | options
        return Net(part, net=net(**options_)) if part else net(**options_)

    return make, [(1, 3, size, size)]


def segmented(m, x):
    return m.net(x)["out"]


def detected(m, x):
    """The heads' results; what follows is other in each library."""
    return list(m.net.head(list(m.net.backbone(x).values())).values())


def proposed(m, x):
    features = list(m.net.backbone(x).values())
    scores, boxes = m.net.rpn.head(features)
    return [*scores, *boxes]


TORCHVISION = {
    "resnet18": first("resnet18"), "vgg11_bn": first("vgg11_bn", 224), "densenet121": first("densenet121"),
    "mobilenet_v3_small": first("mobilenet_v3_small"), "shufflenet_v2_x0_5": first("shufflenet_v2_x0_5"),
    "squeezenet1_1": first("squeezenet1_1"), "googlenet": first("googlenet", init_weights=False, aux_logits=False),
    "regnet_x_400mf": first("regnet_x_400mf"), "efficientnet_b0": first("efficientnet_b0"), "convnext_tiny": first("convnext_tiny"),
    "swin_t": first("swin_t", 224), "swin_v2_t": first("swin_v2_t", 256), "vit_b_32": first("vit_b_32", 224),
    "lraspp_mobilenet_v3_large": first("lraspp_mobilenet_v3_large", 128, segmented),
    "deeplabv3_mobilenet_v3_large": first("deeplabv3_mobilenet_v3_large", 128, segmented),
    "ssdlite320_mobilenet_v3_large": first("ssdlite320_mobilenet_v3_large", 320, detected),
    "fasterrcnn_mobilenet_v3_large_320_fpn": first("fasterrcnn_mobilenet_v3_large_320_fpn", 320, proposed),
}  # fmt: skip
OPSETS = {22: 5, 23: 5, 24: 4, 25: 4, 26: 4, 27: 4, 28: 6}
OF_OPSETS = ["gelu", "vit", "rms_norm", "upsample_bicubic", "lstm", "silu"]


def export(path, make, shapes, **options):
    def write(part):
        torch.manual_seed(1)
        net = make().eval()
        for module in net.modules():  # what training would have left there
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
                nn.init.normal_(module.running_mean, std=0.1)
                nn.init.uniform_(module.running_var, 0.5, 2)
        inputs = tuple(torch.randn(*shape) for shape in (shapes() if callable(shapes) else shapes))
        way = {"external_data": False, "verbose": False} if options.get("dynamo", True) else {}
        torch.onnx.export(net, inputs, str(part), **way, **options)

    tried(path, write)


def groups(folder):
    nets = small()

    def of_timm():
        for name in TIMM:
            make, size = timm_net(name)
            export(folder / f"timm/{name}.onnx", make, lambda size=size: [(1, 3, size(), size())])

    def of_opsets():
        for opset, count in OPSETS.items():
            for name in OF_OPSETS[:count]:
                export(folder / f"opset/{name}.{opset}.onnx", *nets[name], opset_version=opset)

    def of_nets(group, which, **options):
        def write():
            for name, (make, shapes) in which.items():
                export(folder / group / f"{name}.onnx", make, shapes, **options)

        return write

    return {"small": of_nets("small", nets), "old": of_nets("old", nets, dynamo=False), "opset": of_opsets, "timm": of_timm,
            "torchvision": of_nets("torchvision", TORCHVISION)}  # fmt: skip


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    writers = groups(pathlib.Path(sys.argv[1]).resolve())
    for name in sys.argv[2:] or writers:
        with torch.no_grad():
            writers[name]()


if __name__ == "__main__":
    main()
