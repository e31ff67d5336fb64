# SPDX-License-Identifier: Apache-2.0
"""Marks for a training program in Python: steps, phases, counters (src/capture/lockstep-mark.h by ctypes).

    import lockstep_mark as lockstep

    for number, batch in enumerate(data):
        with lockstep.step(number, samples=len(batch)):
            with lockstep.phase('forward'):
                loss = model(batch)
            with lockstep.phase('backward'):
                loss.backward()
            with lockstep.phase('optimizer'):
                optimizer.step()
        lockstep.counter('loss', float(loss))

Copy this one file beside the program. Where the library is not to be found, or nothing is recorded, every
call does nothing. LOCKSTEP_CAPTURE_LIBRARY names the library where the loader does not know it.
"""
import contextlib
import ctypes
import os

PHASES = {'forward': 0, 'backward': 1, 'optimizer': 2, 'input': 3, 'checkpoint': 4}

_SIGNATURES = {
    'lockstep_step_begin': [ctypes.c_int64],
    'lockstep_step_end': [ctypes.c_int64, ctypes.c_int64],
    'lockstep_phase_begin': [ctypes.c_int],
    'lockstep_phase_end': [ctypes.c_int, ctypes.c_int64],
    'lockstep_counter': [ctypes.c_char_p, ctypes.c_double],
    'lockstep_instant': [ctypes.c_char_p],
}


def _load():
    names = [os.environ.get('LOCKSTEP_CAPTURE_LIBRARY'), 'liblockstep-capture.so']
    tracer = os.environ.get('NVTX_INJECTION64_PATH', '')
    if os.path.basename(tracer) == 'liblockstep-tracer.so':
        # Under `lockstep record`: beside the tracer, where it is installed or in the kit.
        names.insert(1, os.path.join(os.path.dirname(tracer), 'liblockstep-capture.so'))
    for name in filter(None, names):
        try:
            library = ctypes.CDLL(name)
            for function, arguments in _SIGNATURES.items():
                getattr(library, function).argtypes = arguments
                getattr(library, function).restype = None
            return library
        except (OSError, AttributeError):
            continue
    return None


_library = _load()


def is_loaded():
    """Whether the library was found; whether it records is its own affair."""
    return _library is not None


@contextlib.contextmanager
def step(number, samples=0, operations=0):
    """One training step; samples this rank consumes in it, floating-point operations it does."""
    if _library:
        _library.lockstep_step_begin(number)
    try:
        yield
    finally:
        if _library:
            _library.lockstep_step_end(samples, operations)


@contextlib.contextmanager
def phase(name, operations=0):
    """forward, backward, optimizer, input or checkpoint."""
    index = PHASES[name]
    if _library:
        _library.lockstep_phase_begin(index)
    try:
        yield
    finally:
        if _library:
            _library.lockstep_phase_end(index, operations)


def counter(name, value):
    """A sample of something worth a curve: loss, learning rate, queue length."""
    if _library:
        _library.lockstep_counter(name.encode(), value)


def instant(name):
    """A point in time worth finding."""
    if _library:
        _library.lockstep_instant(name.encode())
