#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make.py [--check]: writes the workload files of this folder from the shapes of the networks.

A workload is what data-parallel training asks of gradient reduction: the gradients in the order in which
backward produces them, with their bytes and types, the layer that each belongs to, and the time that
backward needs from one to the next; and how long the rest of the step computes. Shapes are those that
were published, counts of parameters are checked against the published ones. Times are derived: a layer's
part of backward is its part of the operations, and the length of a step is the operations over a rate, or
a measured throughput, as each file's `source` says. They are good for how gradients follow one another,
not for how fast a machine is.

--check: writes nothing and fails where a file is not what this script would write.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
BYTES = {'float32': 4, 'float16': 2}
# Of backward: shared out evenly, for what a layer costs whatever its size.
EVEN = 0.05


def make(name, title, source, dtype, samples, layers, step_us, parameters, operations=None):
    """layers: (layer, [(tensor, shape, forward operations)]) in forward order."""
    tensors = [(layer, tensor, shape, cost) for layer, inner in layers for tensor, shape, cost in inner]
    counts = [count_of(shape) for _, _, shape, _ in tensors]
    assert sum(counts) == parameters, f'{name}: {sum(counts)} parameters, published {parameters}'
    whole = sum(cost for _, _, _, cost in tensors)
    if operations is not None:
        assert abs(3 * whole - operations) < 0.01 * operations, f'{name}: {3 * whole:.4g} operations'
    backward = step_us * 0.62
    rows = []
    for (layer, tensor, _, cost), count in zip(reversed(tensors), reversed(counts)):
        share = EVEN / len(tensors) + (1 - EVEN) * cost / whole
        rows.append({'name': tensor, 'layer': layer, 'bytes': count * BYTES[dtype],
                     'backward_us': max(1, round(backward * share))})
    head = {'workload': 1, 'name': title, 'source': source, 'dtype': dtype, 'samples': samples,
            'operations': round(3 * whole), 'input_us': round(step_us * 0.02),
            'forward_us': round(step_us * 0.31), 'optimizer_us': round(step_us * 0.05), 'jitter': 0.03,
            'slow_ranks': []}
    return name, head, rows


def count_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def write(head, rows):
    lines = [f'  {json.dumps(key)}: {json.dumps(value)},' for key, value in head.items()]
    inner = ',\n'.join('    ' + json.dumps(row) for row in rows)
    return '{\n' + '\n'.join(lines) + '\n  "tensors": [\n' + inner + '\n  ]\n}\n'


def convolution(name, taken, given, kernel, area, norm=True):
    """A convolution without bias and the batch normalisation after it. area: pixels of its output."""
    rows = [(f'{name}.weight', (given, taken, kernel, kernel), 2 * kernel * kernel * taken * given * area)]
    if norm:
        batch = name.replace('conv', 'bn') if 'conv' in name else name[:-1] + '1'
        rows += [(f'{batch}.weight', (given,), 0), (f'{batch}.bias', (given,), 0)]
    return rows


def make_resnet50():
    images = 64
    layers = [('stem', convolution('conv1', 3, 64, 7, images * 112 ** 2))]
    taken = 64
    for stage, (blocks, width, side) in enumerate([(3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)], 1):
        for block in range(blocks):
            at, before = f'layer{stage}.{block}', side if stage == 1 or block > 0 else 2 * side
            rows = convolution(f'{at}.conv1', taken, width, 1, images * before ** 2)
            rows += convolution(f'{at}.conv2', width, width, 3, images * side ** 2)
            rows += convolution(f'{at}.conv3', width, 4 * width, 1, images * side ** 2)
            if block == 0:
                rows += convolution(f'{at}.downsample.0', taken, 4 * width, 1, images * side ** 2)
            layers.append((at, rows))
            taken = 4 * width
    layers.append(('fc', [('fc.weight', (1000, 2048), images * 2 * 2048 * 1000), ('fc.bias', (1000,), 0)]))
    return make('resnet50', 'ResNet-50', [
        'shapes: He et al., Deep Residual Learning for Image Recognition, arXiv 1512.03385, table 1, as in '
        'torchvision (stride in the 3x3 convolutions): 25,557,032 parameters in 161 tensors',
        'step: 64 images at 641 images/s, one V100 (horovod/horovod issue 288, June 2018)'],
        'float32', images, layers, images / 641 * 1e6, 25557032, images * 3 * 2 * 4.089e9)


def make_fcdensenet():
    """Growth 128, kernel 5, layers per block 2 2 3 | 4 | 3 2 2, at 512 x 512."""
    growth, kernel, side, layers, skips = 128, 5, 512, [], []

    def dense(name, channels, count):
        rows = []
        for i in range(count):
            rows.append((f'{name}/conv_{i}/kernel', (kernel, kernel, channels, growth),
                         2 * kernel * kernel * channels * growth * side * side))
            channels += growth
        layers.append((name, rows))
        return channels

    layers.append(('CONV_INIT', [
        ('CONV_INIT/kernel', (kernel, kernel, 1024, growth), 2 * kernel * kernel * 1024 * growth * side * side),
        ('CONV_INIT/vector', (512,), 0)]))
    channels = growth
    for i, count in enumerate([2, 2, 3]):
        channels = dense(f'DB_{i}', channels, count)
        skips.append(channels)
        layers.append((f'TD_{i}', [(f'TD_{i}/beta', (channels,), 0), (f'TD_{i}/gamma', (channels,), 0),
                                   (f'TD_{i}/kernel', (channels, channels), 2 * channels ** 2 * side ** 2)]))
        side //= 2
    dense('DB_3', channels, 4)
    fresh = 4 * growth
    for i, count in enumerate([3, 2, 2]):
        # Operations of a transposed convolution are counted over its input.
        layers.append((f'TU_{i}', [(f'TU_{i}/kernel', (fresh, fresh), 2 * fresh ** 2 * side ** 2)]))
        side *= 2
        channels = dense(f'DB_{4 + i}', fresh + skips.pop(), count)
        fresh = count * growth
    layers.append(('CONV_FIN', [('CONV_FIN/kernel', (channels, 1), 2 * channels * side ** 2)]))
    parameters = sum(count_of(shape) for _, rows in layers for _, shape, _ in rows)
    assert round(parameters / 1e5) == 598, parameters
    return make('fcdensenet', 'FC-DenseNet, growth 128, kernel 5', [
        'shapes: the generator of nlaanait/stemdl, March 2019, the application of arXiv 1909.11150: 33 '
        'gradients in 15 layer groups, 59.8 million parameters, 119.7 MB in float16, 21.3e12 operations a step',
        'the second gradient of the first layer is known by its size alone, about 1 kB',
        'step: 21.3e12 operations at 60 TFLOPS, one V100 of arXiv 1909.11150 at efficiency 1'],
        'float16', 1, layers, 21.3e12 / 60e12 * 1e6, parameters, 21.3e12)


def make_bert():
    hidden, inner, tokens = 768, 3072, 32 * 128

    def linear(name, taken, given):
        return [(f'{name}.weight', (given, taken), 2 * taken * given * tokens), (f'{name}.bias', (given,), 0)]

    def norm(name):
        return [(f'{name}.weight', (hidden,), 0), (f'{name}.bias', (hidden,), 0)]

    layers = [('embeddings', [('embeddings.word_embeddings.weight', (30522, hidden), 0),
                              ('embeddings.position_embeddings.weight', (512, hidden), 0),
                              ('embeddings.token_type_embeddings.weight', (2, hidden), 0)]
               + norm('embeddings.LayerNorm'))]
    for i in range(12):
        at = f'encoder.layer.{i}'
        rows = []
        for part in ('query', 'key', 'value'):
            rows += linear(f'{at}.attention.self.{part}', hidden, hidden)
        rows += linear(f'{at}.attention.output.dense', hidden, hidden) + norm(f'{at}.attention.output.LayerNorm')
        rows += linear(f'{at}.intermediate.dense', hidden, inner)
        rows += linear(f'{at}.output.dense', inner, hidden) + norm(f'{at}.output.LayerNorm')
        layers.append((at, rows))
    pooler = [(name, shape, cost // 128) for name, shape, cost in linear('pooler.dense', hidden, hidden)]
    layers.append(('pooler', pooler))
    whole = 3 * sum(cost for _, rows in layers for _, _, cost in rows)
    return make('bert-base', 'BERT-base', [
        'shapes: Devlin et al., BERT, arXiv 1810.04805, L=12 H=768 A=12, as BertModel of Hugging Face with '
        'the vocabulary of bert-base-uncased: 109,482,240 parameters in 199 tensors',
        'step: 32 sequences of 128 tokens; the operations of the matrices at an assumed 40 TFLOPS'],
        'float32', 32, layers, whole / 40e12 * 1e6, 109482240)


def make_small():
    """Made up: no network, but many gradients that are small and come close together."""
    layers = [(f'block_{i:02}', [(f'block_{i:02}/tensor_{k:02}', (256 << k % 4,), 256 << k % 4)
                                 for k in range(50)]) for i in range(40)]
    parameters = sum(count_of(shape) for _, rows in layers for _, shape, _ in rows)
    name, head, rows = make('small-2000', '2,000 small tensors', [
        'made up: 40 layers of 50 tensors of 1, 2, 4 and 8 KiB; a step of 100 ms'],
        'float32', 32, layers, 1e5, parameters)
    head['operations'] = 0  # what was made up is the times
    return name, head, rows


def main():
    changed = []
    for name, head, rows in (make_resnet50(), make_fcdensenet(), make_bert(), make_small()):
        path, text = HERE / f'{name}.json', write(head, rows)
        print(f'{path.name}: {len(rows)} tensors, {len({row["layer"] for row in rows})} layers, '
              f'{sum(row["bytes"] for row in rows) / 1e6:.1f} MB')
        if path.exists() and path.read_text(encoding='utf-8') == text:
            continue
        changed.append(path.name)
        if '--check' not in sys.argv:
            path.write_text(text, encoding='utf-8')
    if changed and '--check' in sys.argv:
        print('not what make.py writes: ' + ', '.join(changed))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
