"""Runs an ONNX file of a text encoder. The only file that imports the runtime.

ONNX files are data: they describe a computation of the runtime's own operators. Libraries with
custom operators are never loaded, and external weights must lie beside the file.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Must be set before the runtime is loaded: its `disable_telemetry_events()` is too late to stop it
# from queueing events and resolving its vendor's host.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

from surefind.adapters.onnx.devices import DIRECTML, Device, check_started, providers_for
from surefind.errors import InputError

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

Outputs = dict[str, NDArray[Any]]


def session_of(path: Path, device: Device = "cpu") -> "onnxruntime.InferenceSession":
    """A session that uses one thread of its own. Raises bare exceptions of the runtime."""
    providers = providers_for(device, onnxruntime.get_available_providers())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_mem_pattern = DIRECTML not in providers  # which does not support it
    session = onnxruntime.InferenceSession(str(path), options, providers=providers)
    check_started(device, session.get_providers())
    return session


def threads_for(device: Device, threads: int | None) -> int | None:
    """The number of threads that may use a session at once: with DirectML, only one."""
    providers = providers_for(device, onnxruntime.get_available_providers())
    return 1 if DIRECTML in providers else threads


class EncoderSession:
    """A text encoder: token ids in, one array per output out. Thread-safe."""

    def __init__(self, path: Path, advice: str, device: Device = "cpu") -> None:
        """`advice` is the next step if the runtime can't run the file."""
        try:
            self._session = session_of(path, device)
        except InputError:
            raise
        except Exception as error:  # the runtime's errors share no public root
            raise InputError(
                f"{path} can't be run by ONNX Runtime {onnxruntime.__version__} "
                f"({one_line(error)}); {advice}"
            ) from error
        inputs = {one.name: one.type for one in self._session.get_inputs()}
        unknown = sorted(inputs.keys() - set(INPUTS))
        if unknown or "input_ids" not in inputs:
            raise InputError(
                f"{path} has the inputs {', '.join(inputs)}; a text encoder has input_ids and at "
                f"most {', '.join(INPUTS[1:])}; {advice}"
            )
        wrong = {kind for kind in inputs.values() if kind not in _INTEGERS}
        if wrong:
            raise InputError(f"{path} has inputs of type {', '.join(wrong)}, not int64; {advice}")
        self._types = {name: _INTEGERS[kind] for name, kind in inputs.items()}
        self._outputs = [one.name for one in self._session.get_outputs()]

    def run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], kinds: NDArray[np.int64]
    ) -> Outputs:
        """Each argument has one row per text: token ids, 1 for tokens, and the part of a pair.

        Raises bare exceptions of the runtime.
        """
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        given = dict(zip(INPUTS, (ids, mask, kinds, positions), strict=True))
        feed = {name: given[name].astype(kind) for name, kind in self._types.items()}
        return dict(zip(self._outputs, self._session.run(None, feed), strict=True))


def one_line(error: Exception) -> str:
    """The runtime's message, which can be long."""
    return " ".join(str(error).split())[:300]
