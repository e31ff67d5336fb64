# SPDX-License-Identifier: Apache-2.0
"""lockstep_torch.py: an unchanged PyTorch model on the CPU, its gradients reduced by lockstep.

    import lockstep_torch
    job = lockstep_torch.start()                  # one process per rank, started by mpirun
    job.attach(model, optimizer)                  # rank 0's weights to all; hooks
    for inputs, labels in my_share(job.rank, job.size):
        with job.step(samples=len(inputs)):       # only for the trace
            optimizer.zero_grad()
            loss_of(model(inputs), labels).backward()
            optimizer.step()
    job.stop()

Each gradient is handed in when backward has finished it, averaged over the ranks in place while backward
goes on, and waited for in optimizer.step(). ctypes alone: no module to compile, no mpi4py. The names are
those of model.named_parameters(), so that settings="grouping=layer" groups by them. The libraries are
looked for in LOCKSTEP_LIBRARIES (build folders, as reduce/ and src/capture/), then by the loader.
"""
import contextlib
import ctypes
import functools
import os

import torch

SUM, AVERAGE = 0, 1
DTYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3, torch.int8: 4,
          torch.uint8: 5, torch.int32: 6, torch.int64: 7}
MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE = 2, 3


class Options(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('mpi_comm', ctypes.c_void_p), ('alone', ctypes.c_int),
                ('run', ctypes.c_char_p), ('settings', ctypes.c_char_p), ('graph', ctypes.c_void_p)]


class Tensor(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('name', ctypes.c_char_p), ('input', ctypes.c_void_p),
                ('output', ctypes.c_void_p), ('count', ctypes.c_int64), ('dtype', ctypes.c_int),
                ('shape', ctypes.POINTER(ctypes.c_int64)), ('ndim', ctypes.c_int),
                ('callback', ctypes.c_void_p), ('user', ctypes.c_void_p)]


class LockstepError(RuntimeError):
    """A status below 0, with the library's sentence."""


def load(name):
    for folder in filter(None, os.environ.get('LOCKSTEP_LIBRARIES', '').split(':')):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)


def load_reduce():
    library = load('liblockstep.so')
    library.lockstep_last_error.restype = ctypes.c_char_p
    library.lockstep_status_text.restype = ctypes.c_char_p
    library.lockstep_graph_new.restype = ctypes.c_void_p
    for name, types in {
            'lockstep_options_init': [ctypes.POINTER(Options)],
            'lockstep_init': [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p)],
            'lockstep_shutdown': [ctypes.c_void_p], 'lockstep_rank': [ctypes.c_void_p],
            'lockstep_size': [ctypes.c_void_p],
            'lockstep_allreduce': [ctypes.c_void_p, ctypes.POINTER(Tensor), ctypes.c_int,
                                   ctypes.POINTER(ctypes.c_uint64)],
            'lockstep_broadcast': [ctypes.c_void_p, ctypes.POINTER(Tensor), ctypes.c_int,
                                   ctypes.POINTER(ctypes.c_uint64)],
            'lockstep_wait': [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int],
            'lockstep_graph_tensor': [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64],
            'lockstep_graph_free': [ctypes.c_void_p]}.items():
        getattr(library, name).argtypes = types
    return library


def load_marks():
    library = load('liblockstep-capture.so')
    library.lockstep_step_begin.argtypes = [ctypes.c_int64]
    library.lockstep_step_end.argtypes = [ctypes.c_int64, ctypes.c_int64]
    library.lockstep_phase_begin.argtypes = [ctypes.c_int]
    library.lockstep_phase_end.argtypes = [ctypes.c_int, ctypes.c_int64]
    return library


class Job:
    """The ranks, and the gradients on their way. Not to be made twice in a process."""

    def __init__(self, model=None, settings=None, run=None):
        self.marks = load_marks()
        self.library = load_reduce()
        self.mpi = ctypes.CDLL(None)  # liblockstep brings MPI along
        self.context = ctypes.c_void_p()
        self.handles = {}  # handle -> name, tensor kept alive, tensor to copy it into or None
        self.steps = 0
        level = ctypes.c_int()
        self.started = hasattr(self.mpi, 'MPI_Init_thread')
        if self.started and (self.mpi.MPI_Init_thread(None, None, MPI_THREAD_MULTIPLE, ctypes.byref(level))
                             != 0 or level.value < MPI_THREAD_SERIALIZED):
            raise LockstepError('MPI could not be started with threads')
        options = Options()
        self.library.lockstep_options_init(ctypes.byref(options))
        options.run = run.encode() if run else None
        options.settings = settings.encode() if settings else None
        graph = self.describe(model) if model is not None else None
        options.graph = graph
        status = self.library.lockstep_init(ctypes.byref(options), ctypes.byref(self.context))
        self.library.lockstep_graph_free(graph)
        self.check(status, 'cannot start')
        self.rank = self.library.lockstep_rank(self.context)
        self.size = self.library.lockstep_size(self.context)

    def check(self, status, what):
        if status >= 0:
            return
        text = (self.library.lockstep_last_error() or self.library.lockstep_status_text(status)).decode()
        raise LockstepError(f'{what}: {text}')

    def describe(self, model):
        """Tensors in the order in which backward usually finishes them: the last layer first."""
        graph = self.library.lockstep_graph_new()
        for name, parameter in reversed(list(model.named_parameters())):
            self.check(self.library.lockstep_graph_tensor(
                graph, name.encode(), parameter.numel() * parameter.element_size()), name)
        return graph

    def hand_in(self, call, name, tensor, argument):
        if tensor.is_sparse or tensor.device.type != 'cpu' or tensor.dtype not in DTYPES:
            raise LockstepError(f'{name}: a dense tensor of numbers on the CPU is needed')
        dense = tensor if tensor.is_contiguous() else tensor.contiguous()
        shape = (ctypes.c_int64 * max(dense.dim(), 1))(*(dense.shape or (1,)))
        handed = Tensor(size=ctypes.sizeof(Tensor), name=name.encode(), input=dense.data_ptr(),
                        output=dense.data_ptr(), count=dense.numel(), dtype=DTYPES[dense.dtype],
                        shape=shape, ndim=len(shape))
        handle = ctypes.c_uint64()
        self.check(call(self.context, ctypes.byref(handed), argument, ctypes.byref(handle)), name)
        self.handles[handle.value] = (name, dense, None if dense is tensor else tensor)

    def wait(self):
        """Until all that was handed in is averaged."""
        handles, self.handles = self.handles, {}
        for handle, (name, dense, tensor) in handles.items():
            self.check(self.library.lockstep_wait(self.context, handle, -1), name)
            if tensor is not None:
                tensor.copy_(dense)

    def share(self, model):
        """Rank 0's weights and buffers to all."""
        with torch.no_grad():
            for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
                self.hand_in(self.library.lockstep_broadcast, f'broadcast.{name}', tensor.data, 0)
            self.wait()

    def reduce(self, name, parameter):
        self.hand_in(self.library.lockstep_allreduce, name, parameter.grad.data, AVERAGE)

    def attach(self, model, optimizer):
        """One backward pass a step: a gradient that is handed in twice before the wait is an error."""
        self.share(model)
        self.hooks = []
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            if hasattr(parameter, 'register_post_accumulate_grad_hook'):
                self.hooks.append(parameter.register_post_accumulate_grad_hook(
                    functools.partial(self.reduce, name)))
                continue
            # Before PyTorch 2.1: the node of the graph that adds to .grad; it lives while it is held.
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            node.register_hook(lambda *_, name=name, parameter=parameter: self.reduce(name, parameter))
            self.hooks.append(node)
        step = optimizer.step

        @functools.wraps(step)
        def wait_and_step(*arguments, **named):
            self.wait()
            return step(*arguments, **named)
        optimizer.step = wait_and_step

    @contextlib.contextmanager
    def step(self, samples=0):
        self.marks.lockstep_step_begin(self.steps)
        yield self.steps
        self.marks.lockstep_step_end(samples, 0)
        self.steps += 1

    @contextlib.contextmanager
    def phase(self, name):
        number = ('forward', 'backward', 'optimizer', 'input', 'checkpoint').index(name)
        self.marks.lockstep_phase_begin(number)
        yield
        self.marks.lockstep_phase_end(number, 0)

    def stop(self):
        self.check(self.library.lockstep_shutdown(self.context), 'shutdown')
        if self.started:
            self.mpi.MPI_Finalize()


def start(model=None, settings=None, run=None):
    """model: only where groups are made from its names; settings: as those of lockstep_options."""
    return Job(model, settings, run)
