"""JAX models, small enough to compile in seconds: each is a function and its arguments."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

MODELS = {}


def model(*shapes):
    """Registers a function; its arguments are of these shapes, from a seed."""

    def add(function):
        draw = np.random.default_rng(7)
        arguments = [(draw.standard_normal(shape) * 0.3).astype(np.float32) for shape in shapes]
        MODELS[function.__name__] = (function, arguments)
        return function

    return add


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(x, wq, wk, wv, mask=None):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / np.sqrt(q.shape[-1]).astype(np.float32)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jax.nn.softmax(scores) @ v


def descend(loss):
    """A training step of gradient descent on everything but the first two arguments."""

    def step(x, y, *weights):
        value, grads = jax.value_and_grad(lambda w: loss(x, y, *w))(list(weights))
        return (value, *[w - 0.1 * g for w, g in zip(weights, grads)])

    return step


@model((32, 64), (64, 128), (128, 64))
def mlp(x, w1, w2):
    return jnp.tanh(x @ w1) @ w2


@model((32, 64), (32, 8), (64, 128), (128, 8))
def mlp_training(x, y, w1, w2):
    return descend(lambda x, y, w1, w2: ((jnp.tanh(x @ w1) @ w2 - y) ** 2).mean())(x, y, w1, w2)


@model((32, 64), (32, 8), (64, 128), (128, 8), (64, 128), (128, 8))
def mlp_momentum_training(x, y, w1, w2, m1, m2):
    grads = jax.grad(lambda w: ((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2).mean())([w1, w2])
    m1, m2 = 0.9 * m1 + grads[0], 0.9 * m2 + grads[1]
    return w1 - 0.1 * m1, w2 - 0.1 * m2, m1, m2


@model((32, 64), (32, 8), (64, 64), (64, 8), (64, 64), (64, 8), (64, 64), (64, 8))
def adam_training(x, y, w1, w2, m1, m2, v1, v2):
    grads = jax.grad(lambda w: ((jax.nn.gelu(x @ w[0]) @ w[1] - y) ** 2).mean())([w1, w2])
    out = []
    for w, m, v, g in zip((w1, w2), (m1, m2), (v1, v2), grads):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v * v + 0.01 * g * g
        out += [w - 0.01 * m / (jnp.sqrt(v) + 1e-3), m, v]
    return tuple(out)


@model((2, 16, 16, 3), (3, 3, 3, 16), (3, 3, 16, 16), (16, 10))
def convolutions(x, k1, k2, w):
    dims = ("NHWC", "HWIO", "NHWC")
    x = jax.nn.relu(lax.conv_general_dilated(x, k1, (1, 1), "SAME", dimension_numbers=dims))
    x = jax.nn.relu(lax.conv_general_dilated(x, k2, (2, 2), "SAME", dimension_numbers=dims))
    return x.mean((1, 2)) @ w


@model((2, 12, 12, 3), (2, 10), (3, 3, 3, 8), (8, 10))
def convolution_training(x, y, k, w):
    def loss(x, y, k, w):
        h = lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return ((jax.nn.relu(h).mean((1, 2)) @ w - y) ** 2).mean()

    return descend(loss)(x, y, k, w)


@model((2, 16, 16, 8), (3, 3, 8, 8), (3, 3, 8, 8), (1, 1, 8, 8))
def residual_block(x, k1, k2, k3):
    dims = ("NHWC", "HWIO", "NHWC")
    h = jax.nn.relu(lax.conv_general_dilated(x, k1, (1, 1), "SAME", dimension_numbers=dims))
    h = lax.conv_general_dilated(h, k2, (1, 1), "SAME", dimension_numbers=dims)
    return jax.nn.relu(h + lax.conv_general_dilated(x, k3, (1, 1), "SAME", dimension_numbers=dims))


@model((2, 16, 16, 8), (1, 1, 8, 8), (3, 3, 8, 8), (5, 5, 8, 8))
def inception_block(x, k1, k3, k5):
    dims = ("NHWC", "HWIO", "NHWC")
    parts = [jax.nn.relu(lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=dims))
             for k in (k1, k3, k5)]
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    return jnp.concatenate(parts + [pooled], -1)


@model((32, 64), (64, 64), (64, 64), (64, 64))
def attention(x, wq, wk, wv):
    return attend(x, wq, wk, wv)


@model((32, 64), (64, 32), (64, 32), (64, 32), (64, 32), (64, 32), (64, 32))
def two_heads(x, q1, k1, v1, q2, k2, v2):
    return jnp.concatenate([attend(x, q1, k1, v1), attend(x, q2, k2, v2)], -1)


@model((32, 64), (64, 64), (64, 64), (64, 64), (64, 128), (128, 64))
def causal_transformer(x, wq, wk, wv, w1, w2):
    mask = jnp.tril(jnp.ones((32, 32), bool))
    x = x + attend(norm(x), wq, wk, wv, mask)
    return x + jax.nn.gelu(norm(x) @ w1) @ w2


@model((16, 32), (16, 32), (32, 32), (32, 32), (32, 32), (32, 64), (64, 32))
def transformer_training(x, y, wq, wk, wv, w1, w2):
    def loss(x, y, wq, wk, wv, w1, w2):
        h = x + attend(norm(x), wq, wk, wv)
        return ((h + jax.nn.relu(norm(h) @ w1) @ w2 - y) ** 2).mean()

    return descend(loss)(x, y, wq, wk, wv, w1, w2)


@model((24, 32), (40, 32), (32, 32), (32, 32), (32, 32))
def cross_attention(x, memory, wq, wk, wv):
    scores = (x @ wq) @ (memory @ wk).T / np.float32(np.sqrt(32))
    return jax.nn.softmax(scores) @ (memory @ wv)


@model((12, 4, 32), (64, 128), (128,), (32, 8))
def lstm_scan(xs, w, b, out):
    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((4, 32), jnp.float32)
    (h, _), hs = lax.scan(cell, (zero, zero), xs)
    return h @ out, hs


@model((12, 4, 32), (32, 32), (32, 32), (32, 32), (32, 32))
def bidirectional_rnn(xs, wx, wh, bx, bh):
    def run(xs, wx, wh):
        def cell(h, x):
            h = jnp.tanh(x @ wx + h @ wh)
            return h, h

        return lax.scan(cell, jnp.zeros((4, 32), jnp.float32), xs)[1]

    return jnp.concatenate([run(xs, wx, wh), run(xs[::-1], bx, bh)[::-1]], -1)


@model((6, 4, 16), (4, 4), (32, 64), (64,), (16, 4))
def lstm_training(xs, y, w, b, out):
    def loss(xs, y, w, b, out):
        h = c = jnp.zeros((4, 16), jnp.float32)
        for t in range(6):
            i, f, g, o = jnp.split(jnp.concatenate([xs[t], h], -1) @ w + b, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return ((h @ out - y) ** 2).mean()

    return descend(loss)(xs, y, w, b, out)


@model((32, 64), (64, 4), (4, 64, 64), (4, 64, 64))
def mixture_of_experts(x, gate, w1, w2):
    weights = jax.nn.softmax(x @ gate)
    experts = [jax.nn.relu(x @ w1[i]) @ w2[i] for i in range(4)]
    return sum(weights[:, i:i + 1] * expert for i, expert in enumerate(experts))


@model((32, 32), (32, 4), (4, 32, 32))
def top_expert(x, gate, w):
    chosen = jax.nn.one_hot(jnp.argmax(x @ gate, -1), 4, dtype=x.dtype)
    return jnp.einsum("be,bi,eio->bo", chosen, x, w)


@model((16, 32), (16, 32), (32, 32), (32, 3, 32, 32), (32, 32))
def mixture_training(x, y, gate, w, out):
    def loss(x, y, gate, w, out):
        mixed = [jax.nn.sigmoid(x @ gate) * jnp.tanh(x @ w[0, i]) for i in range(3)]
        return ((sum(mixed) @ out - y) ** 2).mean()

    return descend(loss)(x, y, gate, w, out)


@model((32, 64), (64, 16), (16, 64), (64, 16), (16, 64))
def two_autoencoders(x, e1, d1, e2, d2):
    return jnp.tanh(x @ e1) @ d1, jnp.tanh(x @ e2) @ d2


@model((32, 48), (32, 48), (48, 64), (64, 16), (48, 64), (64, 16))
def two_towers(x, y, a1, a2, b1, b2):
    left, right = jax.nn.relu(x @ a1) @ a2, jax.nn.relu(y @ b1) @ b2
    return norm(left) @ norm(right).T


@model((16, 24, 32), (24, 48), (48, 24), (32, 64), (64, 32))
def mixer_block(x, t1, t2, c1, c2):
    y = x + jnp.swapaxes(jax.nn.gelu(jnp.swapaxes(norm(x), 1, 2) @ t1) @ t2, 1, 2)
    return y + jax.nn.gelu(norm(y) @ c1) @ c2


@model((40, 40), (40, 16), (16, 32), (32, 8))
def graph_network(adjacency, x, w1, w2):
    links = jax.nn.softmax(adjacency)
    return links @ jax.nn.relu(links @ x @ w1) @ w2


@model((2, 64, 8), (2, 8, 8), (2, 8, 8), (2, 8, 8))
def dilated_convolutions(x, k1, k2, k3):
    for dilation, k in ((1, k1), (2, k2), (4, k3)):
        h = lax.conv_general_dilated(x, k, (1,), [(dilation, 0)], rhs_dilation=(dilation,),
                                     dimension_numbers=("NWC", "WIO", "NWC"))
        x = x + jnp.tanh(h)
    return x


@model((100, 16), (8, 16), (16, 32), (32, 1), (16, 1))
def wide_and_deep(table, x, w1, w2, wide):
    rows = table[jnp.array([3, 14, 15, 92, 65, 35, 89, 79])]
    return jax.nn.sigmoid(jax.nn.relu((rows + x) @ w1) @ w2 + x @ wide)


@model((32, 10), (32, 32), (32, 32), (32, 10))
def classifier_training(y, x, w1, w2):
    def loss(x, y, w1, w2):
        return -(jax.nn.log_softmax(jax.nn.relu(x @ w1) @ w2) * jax.nn.softmax(y)).sum(-1).mean()

    return descend(loss)(x, y, w1, w2)
