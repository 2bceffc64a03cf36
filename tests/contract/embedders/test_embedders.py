"""What every embedder promises."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from support.fakes import MemoryCache, WordEmbedder
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import TOKENIZER, WEIGHTS
from surefind.adapters.embedders.supplied import SuppliedEmbedder
from surefind.errors import EmbeddingError
from surefind.ports import Embedder
from surefind.services.encoding.cached_embedder import CachedEmbedder


class EmbedderContract:
    """`tolerance`: how far two vectors of one text may lie apart; nothing, on one's own machine."""

    tolerance = 0.0

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    async def test_one_unit_row_per_passage_in_order(self, embedder: Embedder) -> None:
        passages = ["how to install", "the weather in spring", "how to install"]
        rows = await embedder.embed_passages(passages)
        assert rows.shape == (3, embedder.fingerprint.dimensions)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        assert np.allclose(rows[0], rows[2], rtol=0, atol=self.tolerance)
        assert not np.array_equal(rows[0], rows[1])

    async def test_no_passages_give_no_rows(self, embedder: Embedder) -> None:
        assert (await embedder.embed_passages([])).shape == (0, embedder.fingerprint.dimensions)

    async def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        alone = await embedder.embed_passages(["a short passage"])
        restrict_to = await embedder.embed_passages(["word " * 300, "a short passage", "x"])
        assert np.allclose(alone[0], restrict_to[1], rtol=0, atol=self.tolerance)

    async def test_concurrent_calls_give_the_same_vectors(self, embedder: Embedder) -> None:
        passages = [f"passage number {number}" for number in range(8)]
        together = await asyncio.gather(*(embedder.embed_query(passage) for passage in passages))
        one_by_one = [await embedder.embed_query(passage) for passage in passages]
        assert np.allclose(together, one_by_one, rtol=0, atol=self.tolerance)

    async def test_questions_of_a_group_get_the_vectors_they_get_alone(
        self, embedder: Embedder
    ) -> None:
        queries = [f"question number {number % 30}" for number in range(40)]
        told = await embedder.embed_queries(queries)
        alone = [await embedder.embed_query(query) for query in queries]
        assert len(told) == len(queries)
        for one, vector in zip(told, alone, strict=True):
            assert np.allclose(one.vector, vector, rtol=0, atol=self.tolerance)
            assert one.took_ms >= 0
        assert list(await embedder.embed_queries([])) == []

    async def test_a_passage_near_to_the_question_is_nearer_than_a_far_one(
        self, embedder: Embedder
    ) -> None:
        query = await embedder.embed_query("install the program")
        near, far = await embedder.embed_passages(
            ["how to install the program", "cats sleep in sunshine"]
        )
        assert query @ near > query @ far

    async def test_any_text_has_a_finite_vector(self, embedder: Embedder) -> None:
        odd = ["", " ", "\n", "😀" * 50, "x" * 5000, "word " * 3000, "\u202bעברית", "a\x00b"]
        assert np.isfinite(await embedder.embed_passages(odd)).all()

    async def test_tokens_are_counted(self, embedder: Embedder) -> None:
        assert embedder.count_tokens("") == 0
        assert embedder.count_tokens("one two three") == 3
        assert embedder.count_tokens("word " * 1000) == 1000


class TestWordEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return WordEmbedder()


class TestSuppliedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return SuppliedEmbedder(WordEmbedder())


class TestBgeSmall(EmbedderContract):
    @pytest.fixture
    def embedder(self, bge: BgeSmallEmbedder) -> Embedder:
        return bge

    async def test_it_is_the_model_it_says(self, bge: BgeSmallEmbedder) -> None:
        """A relevant pair and an irrelevant one lie where this model puts them."""
        query = await bge.embed_query("What is the capital of France?")
        relevant, irrelevant = await bge.embed_passages(
            ["Paris is the capital and largest city of France.", "Bread is baked from flour."]
        )
        assert 0.75 < query @ relevant < 0.95
        assert query @ irrelevant < 0.6

    async def test_what_is_longer_than_the_model_reads_is_cut(self, bge: BgeSmallEmbedder) -> None:
        words = ["alpha"] * bge.max_tokens
        cut, longer = await bge.embed_passages(
            [" ".join(words), " ".join([*words, "beta", "gamma"])]
        )
        assert np.array_equal(cut, longer)

    async def test_work_that_is_cancelled_is_not_done(self, model_files: Path) -> None:
        embedder = BgeSmallEmbedder(model_files, threads=1)
        passages = [f"passage {number} " * 50 for number in range(200)]
        work = asyncio.ensure_future(embedder.embed_passages(passages))
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        began = time.monotonic()
        await embedder.close()
        assert time.monotonic() - began < 10  # two hundred passages take much longer

    async def test_a_model_that_fails_is_an_embedding_error(
        self, model_files: Path, tmp_path: Path
    ) -> None:
        (tmp_path / WEIGHTS.name).symlink_to(model_files / WEIGHTS.name)
        tokenizer = Tokenizer.from_file(str(model_files / TOKENIZER.name))
        tokenizer.add_tokens(["teapot"])  # a token that the weights do not have
        tokenizer.save(str(tmp_path / TOKENIZER.name))
        embedder = BgeSmallEmbedder(tmp_path)
        with pytest.raises(EmbeddingError, match="the embedding model failed"):
            await embedder.embed_query("teapot")
        with pytest.raises(EmbeddingError, match="the embedding model failed"):
            await embedder.embed_queries(["kettle", "teapot"])
        await embedder.close()


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        embedder = CachedEmbedder(WordEmbedder(), MemoryCache())
        yield embedder
        await embedder.close()
