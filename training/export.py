"""Makes a model folder from the original model and the changes that training sent back.

Weights are `original + share * changes`; with several settings, the mean of their changes. The
result is quantized like the published int8 model: weights by channel, activations on the fly. The
folder works with the settings `embedder = "onnx"` and `embed_model`.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training.weights import Weights, from_onnx, into_onnx, unpacked

POOLING = {
    "word_embedding_dimension": 384,
    "pooling_mode_cls_token": True,
    "pooling_mode_mean_tokens": False,
    "pooling_mode_max_tokens": False,
    "pooling_mode_mean_sqrt_len_tokens": False,
}
MODULES = [
    {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for at, (kind, path) in enumerate(
        (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    )
]
CONFIG = {"model_type": "bert", "hidden_size": 384, "max_position_embeddings": 512}


def changes_of(results: Path, settings: Sequence[str]) -> Weights:
    """The mean of the changes of these settings."""
    total: Weights = {}
    for setting in settings:
        files = sorted(results.glob(f"{setting}-[0-9].bin"))
        if not files:
            raise SystemExit(f"{results} has no result of the setting {setting}")
        for file in files:
            for name, array in unpacked(file.read_bytes()).items():
                part = array / np.float32(len(settings))
                total[name] = total[name] + part if name in total else part
    return total


def mixed(original: Weights, changes: Weights, share: float) -> Weights:
    return {
        name: array + share * changes[name] if name in changes else array
        for name, array in original.items()
    }


def export(original: Path, tokenizer: Path, weights: Weights, folder: Path) -> None:
    """Write the model as fp32 and as int8, and the files that say how to use it."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(POOLING, indent=1) + "\n")
    (folder / "modules.json").write_text(json.dumps(MODULES, indent=1) + "\n")
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    full = folder / "onnx" / "model.onnx"
    into_onnx(original, weights, full)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "model.onnx"
        # Without the full range, sums of products fit where the processor adds them in 16 bits.
        quantize_dynamic(
            full, made, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
        )
        shutil.move(made, folder / "onnx" / "model_quantized.onnx")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="bge-small-en-v1.5 as fp32 ONNX")
    parser.add_argument("into", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json")
    parser.add_argument("--results", type=Path, help="what training.train made")
    parser.add_argument("--settings", nargs="+", default=[], help="names of settings")
    parser.add_argument("--share", type=float, default=1.0, help="of the changes")
    options = parser.parse_args()
    original = from_onnx(options.model)
    changes = changes_of(options.results, options.settings) if options.settings else {}
    export(options.model, options.tokenizer, mixed(original, changes, options.share), options.into)
    for path in sorted((options.into / "onnx").iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
