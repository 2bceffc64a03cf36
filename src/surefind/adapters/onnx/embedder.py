"""An embedder from a folder with an ONNX file, in the layout of sentence-transformers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefind.adapters.embedders.threaded import ThreadedEmbedder
from surefind.adapters.onnx.devices import Device
from surefind.adapters.onnx.model_folder import (
    TOKENIZER,
    ModelFolder,
    ModelSetting,
    digest_of,
    open_folder,
)
from surefind.adapters.onnx.sentence_modules import Floats, Head, head_of
from surefind.adapters.onnx.session import EncoderSession, Outputs, one_line, threads_for
from surefind.adapters.onnx.tokens import TextTokenizer, TokenIds
from surefind.errors import EmbeddingError, InputError
from surefind.model import EmbedderFingerprint
from surefind.ports import Notify, Vector

SETTING = ModelSetting("embed_model", "embed_file")
_SENTENCE = "sentence_embedding"
_TOKENS = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """The user's settings; None means what the model's files say."""

    file: str | None = None
    pooling: str | None = None
    dimensions: int | None = None
    max_tokens: int | None = None
    passage_prefix: str | None = None
    query_prefix: str | None = None
    device: Device = "cpu"


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts before each passage and each query."""

    passage: str = ""
    query: str = ""


class OnnxEmbedder(ThreadedEmbedder):
    def __init__(
        self,
        path: Path,
        options: OnnxOptions,
        notify: Notify,
        usual: Prompts | None = None,
        threads: int | None = None,
    ) -> None:
        """`usual` are the prompts that the model's authors publish, for files without any."""
        folder = open_folder(path, options.file, SETTING)
        head = head_of(folder, options.pooling)
        prompts = _prompts(folder, options, usual or Prompts())
        tokenizer = TextTokenizer(folder, options.max_tokens)
        self._tokenizer = tokenizer
        self._model = SentenceModel(folder, head, tokenizer, options, notify)
        self._prompt_tokens = max(tokenizer.count(one) for one in (prompts.passage, prompts.query))
        if self.max_tokens < 1:
            raise InputError(
                f"{SETTING.model} {folder.name} reads {tokenizer.max_length} tokens, which its "
                "prefixes fill; shorten them"
            )
        super().__init__(
            _fingerprint(folder, head, self._model, prompts),
            lambda text: self._model.embed(text, prompts.passage),
            lambda text: self._model.embed(text, prompts.query),
            threads_for(options.device, threads),
        )

    @property
    def max_tokens(self) -> int:
        tokenizer = self._tokenizer
        return tokenizer.max_length - tokenizer.special_tokens - self._prompt_tokens

    def count_tokens(self, passage: str) -> int:
        return self._tokenizer.count(passage)


class SentenceModel:
    """Embeds texts in the calling thread. Thread-safe."""

    def __init__(
        self,
        folder: ModelFolder,
        head: Head,
        tokenizer: TextTokenizer,
        options: OnnxOptions,
        notify: Notify,
    ) -> None:
        self.folder = folder
        self.tokenizer = tokenizer
        self._head = head
        self._session = EncoderSession(folder.weights_path, folder.advice, options.device)
        width = self._checked_width()
        self.dimensions = _shortened(folder, width, options.dimensions, notify)

    def embed(self, text: str, prompt: str = "") -> Vector:
        tokens = self.tokenizer.encode(prompt + text)
        try:
            outputs = self._session.run(*tokens)
        except Exception as error:  # the runtime's errors share no public root
            raise EmbeddingError(f"the embedding model failed: {error}") from error
        vector: Vector = self._pooled(outputs, tokens, prompt)[0, : self.dimensions]
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0:
            raise EmbeddingError(
                f"{self.folder.name} returned a vector that is zero or not finite; "
                f"{self.folder.advice}"
            )
        vector /= length
        return vector

    def _pooled(self, outputs: Outputs, tokens: TokenIds, prompt: str) -> Floats:
        """The vector of each text, before it is shortened and scaled."""
        output: Floats = _vectors(outputs).astype(np.float32)
        if output.ndim == 2:
            return output
        pooling = self._head.pooling
        if pooling is None:
            raise InputError(
                f"{self.folder.path} has neither modules.json nor 1_Pooling/config.json, which say "
                "how token vectors become one; set embed_pooling to cls, mean, max or last"
            )
        if pooling.width not in {None, output.shape[2]}:
            raise InputError(
                f"{self.folder.weights_path} returns vectors of {output.shape[2]} dimensions, but "
                f"the pooling of {self.folder.name} needs {pooling.width}; {self.folder.advice}"
            )
        mask = tokens.mask
        if prompt and not pooling.include_prompt:
            mask = mask.copy()
            mask[:, : self.tokenizer.beginning(prompt)] = 0
        vectors = pooling.apply(output, mask)
        for step in self._head.steps:
            vectors = step(vectors)
        return vectors

    def _checked_width(self) -> int:
        """Run the model on its tokenizer's last token, and return the size of its vectors."""
        row = np.array([[self.tokenizer.last_id]], dtype=np.int64)
        tokens = TokenIds(row, np.ones_like(row), np.zeros_like(row))
        try:
            outputs = self._session.run(*tokens)
        except Exception as error:
            raise InputError(
                f"{self.folder.path / TOKENIZER} does not fit {self.folder.weights}: its token "
                f"{self.tokenizer.last_id} fails in the model ({one_line(error)}); use the "
                "tokenizer.json that belongs to the model"
            ) from error
        return int(self._pooled(outputs, tokens, "").shape[1])


def _vectors(outputs: Outputs) -> Any:
    """The output with one vector per text, or else with one per token."""
    for name in (_SENTENCE, *_TOKENS):
        if name in outputs:
            return outputs[name]
    found = next((one for one in outputs.values() if one.ndim in {2, 3}), None)
    if found is None:
        shapes = ", ".join(f"{name} {one.shape}" for name, one in outputs.items())
        raise InputError(f"the model has no output with vectors ({shapes}); use an embedding model")
    return found


def _shortened(folder: ModelFolder, width: int, wanted: int | None, notify: Notify) -> int:
    """The size of the vectors; InputError if the model can't have the wanted one."""
    if wanted is None or wanted == width:
        return width
    if wanted > width:
        raise InputError(
            f"embed_dimensions is {wanted}, but the vectors of {folder.name} have {width}; lower it"
        )
    config = folder.mapping("config.json")
    listed = config.get("matryoshka_dimensions")
    if isinstance(listed, list) and listed:
        if wanted not in listed:
            sizes = ", ".join(map(str, listed))
            raise InputError(
                f"embed_dimensions is {wanted}, but {folder.name} supports {sizes}; correct it"
            )
    elif config.get("is_matryoshka") is not True and not _truncates(folder):
        notify(
            f"the files of {folder.name} do not say that its vectors can be shortened to {wanted} "
            "dimensions; measure the quality with `surefind validate`"
        )
    return wanted


def _truncates(folder: ModelFolder) -> bool:
    config = folder.mapping("config_sentence_transformers.json")
    return isinstance(config.get("truncate_dim"), int)


def _prompts(folder: ModelFolder, options: OnnxOptions, usual: Prompts) -> Prompts:
    """The user's prefixes, else those of the files, else the usual ones."""
    stated = folder.mapping("config_sentence_transformers.json").get("prompts")
    prompts = stated if isinstance(stated, dict) else {}

    def prompt(own: str | None, names: tuple[str, ...], published: str) -> str:
        if own is not None:
            return own
        found = [prompts[name] for name in names if isinstance(prompts.get(name), str)]
        return next((one for one in found if one), published)

    return Prompts(
        prompt(options.passage_prefix, ("document", "passage", "corpus"), usual.passage),
        prompt(options.query_prefix, ("query",), usual.query),
    )


def _fingerprint(
    folder: ModelFolder, head: Head, model: SentenceModel, prompts: Prompts
) -> EmbedderFingerprint:
    files = folder.hashes([*folder.weights_files, TOKENIZER, *head.files])
    recipe = {
        "files": sorted(files.values()),
        "pooling": head.pooling and [*head.pooling.modes, head.pooling.include_prompt],
        "modules": head.names,
        "max_length": model.tokenizer.max_length,
        "lowers": model.tokenizer.lowers,
    }
    return EmbedderFingerprint(
        provider="onnx",
        model=folder.name,
        dimensions=model.dimensions,
        weights=digest_of(recipe),
        input_types=f"passage={prompts.passage},query={prompts.query}",
    )
