"""The devices of local models: which provider runs them, and what is said where it can't."""

from pathlib import Path

import numpy as np
import pytest

from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.onnx.devices import CPU, Device, check_started, providers_for
from surefind.adapters.onnx.session import threads_for
from surefind.errors import InputError

CUDA, DML, COREML = "CUDAExecutionProvider", "DmlExecutionProvider", "CoreMLExecutionProvider"


@pytest.mark.parametrize(
    ("device", "available", "chosen"),
    [
        ("cpu", [CUDA, CPU], [CPU]),
        ("cuda", ["TensorrtExecutionProvider", CUDA, CPU], [CUDA, CPU]),
        ("directml", [DML, CPU], [DML, CPU]),
        ("coreml", [COREML, CPU], [COREML, CPU]),
        ("auto", ["AzureExecutionProvider", CPU], [CPU]),
        ("auto", ["TensorrtExecutionProvider", COREML, CUDA, CPU], [CUDA, COREML, CPU]),
    ],
)
def test_the_provider_of_a_device(device: Device, available: list[str], chosen: list[str]) -> None:
    assert providers_for(device, available) == chosen


@pytest.mark.parametrize(
    ("device", "needs"),
    [("cuda", "onnxruntime-gpu"), ("directml", "onnxruntime-directml"), ("coreml", "for macOS")],
)
def test_a_device_without_a_provider_is_refused_with_what_it_needs(
    device: Device, needs: str
) -> None:
    with pytest.raises(InputError, match=rf"embedder_device is {device}, .*{needs}.* to cpu"):
        providers_for(device, ["AzureExecutionProvider", CPU])


def test_a_device_that_does_not_start_is_not_replaced_in_silence() -> None:
    with pytest.raises(InputError, match=r"could not start it and uses CPUExec.*driver"):
        check_started("cuda", [CPU])
    check_started("cuda", [CUDA, CPU])
    check_started("auto", [CPU])
    check_started("cpu", [CPU])


async def test_a_model_runs_where_it_can_and_says_where_it_can_not(model_files: Path) -> None:
    cpu, fastest = (BgeSmallEmbedder(model_files, 1, device) for device in ("cpu", "auto"))
    texts = ["a kettle", "a teapot"]
    assert np.allclose(await cpu.embed_passages(texts), await fastest.embed_passages(texts))
    assert cpu.fingerprint == fastest.fingerprint
    await cpu.close()
    await fastest.close()
    assert threads_for("cpu", 3) == 3
    with pytest.raises(InputError, match="embedder_device is directml"):
        BgeSmallEmbedder(model_files, 1, "directml")
