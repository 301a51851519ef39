"""The papers' six networks and torchvision's, with seeded weights: what primsel's results and times are compared to."""
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import models


class Inception(nn.Module):
    """1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1 (Szegedy et al. 2015, figure 2b)."""

    def __init__(self, c, k1, k3_reduce, k3, k5_reduce, k5, k_pool):
        super().__init__()
        self.branch1 = nn.Conv2d(c, k1, 1)
        self.branch2 = nn.Sequential(nn.Conv2d(c, k3_reduce, 1), nn.Conv2d(k3_reduce, k3, 3, padding=1))
        self.branch3 = nn.Sequential(nn.Conv2d(c, k5_reduce, 1), nn.Conv2d(k5_reduce, k5, 5, padding=2))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(c, k_pool, 1))

    def forward(self, x):
        branch2 = self.branch2[1](F.relu(self.branch2[0](x)))
        branch3 = self.branch3[1](F.relu(self.branch3[0](x)))
        return F.relu(torch.cat([self.branch1(x), branch2, branch3, self.branch4(x)], 1))


class GoogLeNet(nn.Module):
    """The original GoogLeNet (Szegedy et al. 2015, table 1), without the auxiliary classifiers. Torchvision has another
    one: batch normalisation instead of LRN, and 3x3 kernels where the paper has 5x5."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.conv2 = nn.Conv2d(64, 64, 1)
        self.conv3 = nn.Conv2d(64, 192, 3, padding=1)
        self.inception3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.inception4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.inception5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.pool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.lrn = nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1.0)
        self.dropout = nn.Dropout(0.4)
        self.fc = nn.Linear(1024, 1000)

    def forward(self, x):
        x = self.lrn(self.pool(F.relu(self.conv1(x))))
        x = self.lrn(F.relu(self.conv3(F.relu(self.conv2(x)))))
        x = self.inception3b(self.inception3a(self.pool(x)))
        x = self.inception4c(self.inception4b(self.inception4a(self.pool(x))))
        x = self.inception4e(self.inception4d(x))
        x = self.inception5b(self.inception5a(self.pool(x)))
        return self.fc(self.dropout(x.mean((2, 3))))


NETS = {
    "alexnet": models.alexnet,
    "vgg11": lambda: models.vgg11(init_weights=False),
    "vgg19": lambda: models.vgg19(init_weights=False),
    "resnet18": models.resnet18,
    "resnet34": models.resnet34,
    "googlenet": GoogLeNet,
}

# Without the auxiliary classifiers, which run in training alone. Inits that draw_weights overwrites take long.
TORCHVISION = {
    "alexnet": models.alexnet,
    **{name: partial(getattr(models, name), init_weights=False) for name in ("vgg11", "vgg13", "vgg16", "vgg19")},
    "googlenet": partial(models.googlenet, aux_logits=False, init_weights=False),
    "inception_v3": partial(models.inception_v3, aux_logits=False, init_weights=False),
    **{
        name: getattr(models, name)
        for name in (
            *("densenet121", "densenet161", "densenet169", "densenet201"),
            *("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d"),
            *("squeezenet1_0", "squeezenet1_1", "mobilenet_v2"),
            *("shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0"),
            *("mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"),
        )
    },
}


def uniform(like, low, high):
    return torch.empty_like(like).uniform_(low, high)


def draw_weights(net, image, shift):
    """Gives each layer random weights scaled by what it sees of `image`, so that signals keep their size at any depth:
    channels have a standard deviation of about 1, logits are of order 1, and batch normalisations have the image's
    statistics, a little off. What goes into an LRN is larger, or its divisor would be 1; so is what a batch
    normalisation gives to a ReLU6, or nothing would reach 6.

    Biases take a quarter of each channel's mean away. With none taken, deep networks of random weights forget the image
    and the logits show no errors; with all of it taken they are chaotic and show float's rounding. Batch normalisations
    do take all of it, and give `shift` standard deviations back: ResNet-152 needs them."""
    loud = (net.conv1, net.conv3) if isinstance(net, GoogLeNet) else ()
    gain = 2.0 if any(isinstance(layer, nn.ReLU6) for layer in net.modules()) else 1.0

    def draw(layer, inputs, _):
        if isinstance(layer, nn.BatchNorm2d):
            variance, mean = torch.var_mean(inputs[0], (0, 2, 3))
            layer.running_mean.copy_(mean + 0.2 * variance.sqrt() * torch.randn_like(mean))
            layer.running_var.copy_(variance * uniform(variance, 0.6, 1.5))
            layer.weight.copy_(gain * uniform(mean, 0.6, 1.4))
            layer.bias.normal_(shift * gain, 0.2 * gain)
            return layer.forward(inputs[0])
        layer.weight.normal_()
        if layer.bias is not None:
            layer.bias.zero_()
        output = layer.forward(inputs[0])
        mean = output.mean((0, 2, 3), keepdim=True) if isinstance(layer, nn.Conv2d) else torch.zeros(1)
        deviation = 60.0 if layer in loud else 1.0
        scale = deviation / (output - mean).std()
        layer.weight.mul_(scale)
        if layer.bias is not None:
            layer.bias.normal_(0.0, 0.2 * deviation).sub_(0.25 * scale * mean.flatten())
        return layer.forward(inputs[0])

    kinds = (nn.Conv2d, nn.Linear, nn.BatchNorm2d)
    hooks = [layer.register_forward_hook(draw) for layer in net.modules() if isinstance(layer, kinds)]
    net(image)
    for hook in hooks:
        hook.remove()


def draw_image(size=224):
    """An image of shape (1, 3, size, size) with a photograph's large and small features: noise at several scales."""
    octaves = [torch.randn(1, 3, width, width) for width in (4, 14, 56, size)]
    return sum(F.interpolate(octave, size=size, mode="bilinear", align_corners=False) for octave in octaves)


@torch.no_grad()
def make(name, nets=NETS, size=224):
    """The network in eval mode, its weights drawn, and the image of that size they were drawn with."""
    torch.manual_seed(list(nets).index(name))
    net, image = nets[name]().eval(), draw_image(size)
    draw_weights(net, image, shift=0.0 if nets is NETS else 0.75)
    return net, image
