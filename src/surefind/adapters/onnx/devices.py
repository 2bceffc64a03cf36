"""The devices on which ONNX Runtime can run a model."""

from collections.abc import Sequence
from typing import Literal

from surefind.errors import InputError

Device = Literal["auto", "cpu", "cuda", "coreml", "directml"]

CPU = "CPUExecutionProvider"
DIRECTML = "DmlExecutionProvider"
_PROVIDERS = {
    "cuda": "CUDAExecutionProvider",
    "directml": DIRECTML,
    "coreml": "CoreMLExecutionProvider",
}
_NEEDS = {
    "cuda": "replace the package onnxruntime with onnxruntime-gpu",
    "directml": "replace the package onnxruntime with onnxruntime-directml, on Windows",
    "coreml": "it is part of the package onnxruntime for macOS",
}


def providers_for(device: Device, available: Sequence[str]) -> list[str]:
    """The runtime's providers in order of preference; InputError if the device needs another build.

    With `auto`, the fastest one that is available.
    """
    if device == "cpu":
        return [CPU]
    if device == "auto":
        return [*(name for name in _PROVIDERS.values() if name in available), CPU]
    provider = _PROVIDERS[device]
    if provider not in available:
        raise InputError(
            f"embedder_device is {device}, but this ONNX Runtime has no {provider} (it has "
            f"{', '.join(available)}): {_NEEDS[device]}, or set embedder_device to cpu"
        )
    return [provider, CPU]


def check_started(device: Device, started: Sequence[str]) -> None:
    """InputError if the runtime uses the CPU in place of the device, which it does silently."""
    if device in _PROVIDERS and _PROVIDERS[device] not in started:
        raise InputError(
            f"embedder_device is {device}, but ONNX Runtime could not start it and uses "
            f"{', '.join(started)}; check the device's driver and libraries, or set "
            "embedder_device to cpu"
        )
