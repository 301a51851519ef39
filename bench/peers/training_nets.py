"""The networks of training.py for TensorFlow and JAX: each is written once, over the layers that both have.

A backend (TensorFlow, Jax) has weight(dims, fan_in), conv, norm, max_pool, response_norm and a few words for what the two call
differently. Weights are made in the first call of a network and found again, in the same order, in each later one. Images are NHWC,
as both are fastest on a CPU.
"""
RATE, MOMENTUM, DECAY = 0.01, 0.9, 5e-4


def conv_norm(f, x, channels, kernel, stride=1, groups=1):
    return f.norm(f.conv(x, channels, kernel, stride, kernel // 2, groups))


def basic_block(f, x, channels, stride, shortcut):
    y = f.relu(conv_norm(f, x, channels, 3, stride))
    return f.relu(conv_norm(f, y, channels, 3) + shortcut)


def resnet18(f, x):
    x = f.max_pool(f.relu(conv_norm(f, x, 64, 7, 2)), 3, 2, 1)
    for channels in (64, 128, 256, 512):
        grows = channels > 64
        x = basic_block(f, x, channels, 1 + grows, conv_norm(f, x, channels, 1, 2) if grows else x)
        x = basic_block(f, x, channels, 1, x)
    return f.dense(f.mean(x), 1000)


def resnet56(f, x):
    x = f.relu(conv_norm(f, x, 16, 3))
    for channels in (16, 32, 64):
        grows = channels > 16
        shortcut = f.pad_channels(x[:, ::2, ::2], channels // 2) if grows else x
        x = basic_block(f, x, channels, 1 + grows, shortcut)
        for _ in range(8):
            x = basic_block(f, x, channels, 1, x)
    return f.dense(f.mean(x), 10)


def mobilenet_v2(f, x):
    x = f.relu6(conv_norm(f, x, 32, 3, 2))
    for expansion, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                               (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            inner = x.shape[3] * expansion
            y = f.relu6(conv_norm(f, x, inner, 1)) if expansion > 1 else x
            y = f.relu6(conv_norm(f, y, inner, 3, stride if i == 0 else 1, inner))
            y = conv_norm(f, y, channels, 1)
            x = x + y if i > 0 else y
    return f.dense(f.dropout(f.mean(f.relu6(conv_norm(f, x, 1280, 1))), 0.2), 1000)


def squeezenet1_1(f, x):
    def fire(x, squeeze, expand):
        x = f.relu(f.conv(x, squeeze, 1, bias=True))
        return f.concat([f.relu(f.conv(x, expand, 1, bias=True)), f.relu(f.conv(x, expand, 3, 1, 1, bias=True))])

    x = f.max_pool(f.relu(f.conv(x, 64, 3, 2, bias=True)), 3, 2)
    x = f.max_pool(fire(fire(x, 16, 64), 16, 64), 3, 2)
    x = f.max_pool(fire(fire(x, 32, 128), 32, 128), 3, 2)
    x = fire(fire(fire(fire(x, 48, 192), 48, 192), 64, 256), 64, 256)
    return f.mean(f.relu(f.conv(f.dropout(x, 0.5), 1000, 1, bias=True)))


def alexnet_cifar(f, x):
    """Four groups that never meet before the last layer (Xun et al. 2019, table II)."""
    def group(x):
        x = f.max_pool(f.response_norm(f.relu(f.conv(x, 16, 3, bias=True))), 4, 1)
        x = f.max_pool(f.response_norm(f.relu(f.conv(x, 16, 5, 1, 2, bias=True))), 3, 2)
        for _ in range(3):
            x = f.relu(f.conv(x, 16, 3, 1, 1, bias=True))
        return f.flatten(f.max_pool(x, 3, 2))

    return f.dense(f.concat([group(x) for _ in range(4)]), 10)


NETS = {net.__name__: net for net in (resnet18, resnet56, mobilenet_v2, squeezenet1_1, alexnet_cifar)}


class Weights:
    """Weights and running statistics in the order in which a network asks for them."""
    def __init__(self):
        self.values, self.statistics, self.at, self.norms = [], [], 0, 0

    def begin(self):
        self.at = self.norms = 0

    def next(self, make):
        if self.at == len(self.values):
            self.values.append(make())
        self.at += 1
        return self.values[self.at - 1]


class TensorFlow:
    def __init__(self):
        import tensorflow
        self.tf, self.kept = tensorflow, Weights()
        self.relu, self.relu6, self.dropout = tensorflow.nn.relu, tensorflow.nn.relu6, tensorflow.nn.dropout

    def weight(self, dims, fan_in=0, value=0.0):
        def make():
            if fan_in:
                return self.tf.Variable(self.tf.random.normal(dims, stddev=(2 / fan_in) ** 0.5))
            return self.tf.Variable(self.tf.fill(dims, value))
        return self.kept.next(make)

    def conv(self, x, channels, kernel, stride=1, padding=0, groups=1, bias=False):
        inputs = x.shape[3] // groups
        padding = [[0, 0], [padding] * 2, [padding] * 2, [0, 0]]
        if groups > 1:  # depthwise
            y = self.tf.nn.depthwise_conv2d(x, self.weight([kernel, kernel, channels, 1], kernel * kernel), [1, stride, stride, 1],
                                            padding)
        else:
            y = self.tf.nn.conv2d(x, self.weight([kernel, kernel, inputs, channels], kernel * kernel * inputs), stride, padding)
        return self.tf.nn.bias_add(y, self.weight([channels])) if bias else y

    def norm(self, x):
        channels = x.shape[3]
        scale, offset = self.weight([channels], value=1.0), self.weight([channels])
        y, mean, variance = self.tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=1e-5, is_training=True)
        if self.kept.norms == len(self.kept.statistics):
            self.kept.statistics.append([self.tf.Variable(self.tf.fill([channels], value)) for value in (0.0, 1.0)])
        for running, now in zip(self.kept.statistics[self.kept.norms], (mean, variance)):
            running.assign(0.9 * running + 0.1 * now)
        self.kept.norms += 1
        return y

    def max_pool(self, x, kernel, stride, padding=0):
        """Of what is not negative, so that zeros pad as well as nothing does."""
        return self.tf.nn.max_pool2d(self.tf.pad(x, [[0, 0], [padding] * 2, [padding] * 2, [0, 0]]) if padding else x, kernel, stride,
                                     "VALID")

    def response_norm(self, x):
        return self.tf.nn.local_response_normalization(x, 2, 1.0, 1e-4 / 5, 0.75)

    def pad_channels(self, x, count):
        return self.tf.pad(x, [[0, 0], [0, 0], [0, 0], [0, count]])

    def mean(self, x):
        return self.tf.reduce_mean(x, [1, 2])

    def concat(self, parts):
        return self.tf.concat(parts, -1)

    def flatten(self, x):
        return self.tf.reshape(x, [x.shape[0], -1])

    def dense(self, x, outputs):
        return x @ self.weight([x.shape[1], outputs], x.shape[1]) + self.weight([outputs])


class Jax:
    def __init__(self):
        import jax
        self.jax, self.kept, self.key = jax, Weights(), jax.random.key(1)
        self.relu, self.relu6 = jax.nn.relu, jax.nn.relu6

    def random(self):
        self.key, key = self.jax.random.split(self.key)
        return key

    def weight(self, dims, fan_in=0, value=0.0):
        def make():
            if fan_in:
                return self.jax.random.normal(self.random(), dims) * (2 / fan_in) ** 0.5
            return self.jax.numpy.full(dims, value)
        return self.kept.next(make)

    def conv(self, x, channels, kernel, stride=1, padding=0, groups=1, bias=False):
        inputs = x.shape[3] // groups
        weight = self.weight([kernel, kernel, inputs, channels], kernel * kernel * inputs)
        y = self.jax.lax.conv_general_dilated(x, weight, [stride] * 2, [[padding] * 2] * 2, feature_group_count=groups,
                                              dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return y + self.weight([channels]) if bias else y

    def norm(self, x):
        channels = x.shape[3]
        scale, offset = self.weight([channels], value=1.0), self.weight([channels])
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        if self.kept.norms == len(self.kept.statistics):
            self.kept.statistics.append([self.jax.numpy.full([channels], value) for value in (0.0, 1.0)])
        before = self.kept.statistics[self.kept.norms]
        self.kept.statistics[self.kept.norms] = [0.9 * running + 0.1 * now for running, now in zip(before, (mean, variance))]
        self.kept.norms += 1
        return (x - mean) * (scale * self.jax.lax.rsqrt(variance + 1e-5)) + offset

    def max_pool(self, x, kernel, stride, padding=0):
        return self.jax.lax.reduce_window(x, -self.jax.numpy.inf, self.jax.lax.max, (1, kernel, kernel, 1), (1, stride, stride, 1),
                                          [(0, 0), (padding, padding), (padding, padding), (0, 0)])

    def response_norm(self, x):
        sums = self.jax.lax.reduce_window(x * x, 0.0, self.jax.lax.add, (1, 1, 1, 5), (1, 1, 1, 1), [(0, 0), (0, 0), (0, 0), (2, 2)])
        return x * (1 + 1e-4 / 5 * sums) ** -0.75

    def pad_channels(self, x, count):
        return self.jax.numpy.pad(x, [(0, 0), (0, 0), (0, 0), (0, count)])

    def mean(self, x):
        return x.mean((1, 2))

    def concat(self, parts):
        return self.jax.numpy.concatenate(parts, -1)

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def dropout(self, x, rate):
        return self.jax.numpy.where(self.jax.random.bernoulli(self.random(), 1 - rate, x.shape), x / (1 - rate), 0.0)

    def dense(self, x, outputs):
        return x @ self.weight([x.shape[1], outputs], x.shape[1]) + self.weight([outputs])


def tensorflow_step(name, size, batch, threads, form):
    """A function that takes a step and returns its loss; form is graph or xla."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    backend, net = TensorFlow(), NETS[name]
    images, labels = tf.random.normal([batch, size, size, 3]), tf.range(batch) % 10

    def loss_of():
        backend.kept.begin()
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, net(backend, images)))

    loss_of()  # makes the weights
    weights = backend.kept.values
    velocities = [tf.Variable(tf.zeros_like(weight)) for weight in weights]

    @tf.function(jit_compile=form == "xla")
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of()
        for weight, velocity, gradient in zip(weights, velocities, tape.gradient(loss, weights)):
            velocity.assign(MOMENTUM * velocity + gradient + DECAY * weight)
            weight.assign_sub(RATE * velocity)
        return loss

    return lambda: float(step())


def jax_step(name, size, batch, _threads, _form):
    import jax
    backend, net = Jax(), NETS[name]
    images, labels = jax.random.normal(jax.random.key(2), (batch, size, size, 3)), jax.numpy.arange(batch) % 10

    def loss_of(weights, statistics, key, images):
        backend.kept.values, backend.kept.statistics, backend.key = list(weights), list(statistics), key
        backend.kept.begin()
        chosen = jax.nn.log_softmax(net(backend, images))[jax.numpy.arange(batch), labels]
        return -chosen.mean(), backend.kept.statistics

    loss_of([], [], backend.key, images)  # makes the weights
    state = [backend.kept.values, [0.0 * weight for weight in backend.kept.values], backend.kept.statistics, jax.random.key(3)]

    def step(images, weights, velocities, statistics, key):
        key, drawn = jax.random.split(key)
        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, statistics, drawn, images)
        velocities = [MOMENTUM * v + g + DECAY * w for v, g, w in zip(velocities, gradients, weights)]
        return loss, [[w - RATE * v for w, v in zip(weights, velocities)], velocities, statistics, key]

    compiled = jax.jit(step, donate_argnums=(1, 2, 3, 4))

    def call():
        loss, state[:] = compiled(images, *state)
        return float(loss)
    return call


STEPS = {"tensorflow": (tensorflow_step, ("graph", "xla")), "jax": (jax_step, ("compiled",))}
