"""Models that are known to fit: their facts, each with its source.

The ids are of repositories with ONNX files. Scores are nDCG@10; compare only those of the same
benchmark. Without reranking, the mean of the six embedders is 0.4934.
"""

from dataclasses import dataclass

from surefind.adapters.onnx.embedder import Prompts

MTEB_V1 = "MTEB Retrieval (15 sets)"
MTEB_V2 = "MTEB(eng, v2) Retrieval"
RERANKED = "MTEB(eng, v2) Retrieval, mean over six embedders"
_ETTIN = "https://huggingface.co/blog/ettin-reranker"
_BGE = "https://github.com/FlagOpen/FlagEmbedding"


@dataclass(frozen=True, slots=True)
class Score:
    benchmark: str
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class RecommendedModel:
    """`parameters` are in millions. `score` is None if no source with these benchmarks is known."""

    id: str
    parameters: int
    languages: str
    licence: str
    score: Score | None
    pooling: str | None = None
    prompts: Prompts | None = None
    reranks: bool = False


def _arctic(size: str, parameters: int, score: float) -> RecommendedModel:
    name = f"Snowflake/snowflake-arctic-embed-{size}"
    return RecommendedModel(
        name,
        parameters,
        "English",
        "Apache-2.0",
        Score(MTEB_V1, score, f"https://huggingface.co/{name}"),
    )


def _reranker(name: str, parameters: int, score: float) -> RecommendedModel:
    return RecommendedModel(
        name, parameters, "English", "Apache-2.0", Score(RERANKED, score, _ETTIN), reranks=True
    )


EMBEDDERS = (
    RecommendedModel("BAAI/bge-small-en-v1.5", 33, "English", "MIT", Score(MTEB_V1, 0.5168, _BGE)),
    RecommendedModel("BAAI/bge-base-en-v1.5", 109, "English", "MIT", Score(MTEB_V1, 0.5325, _BGE)),
    _arctic("xs", 22, 0.5015),
    _arctic("s", 33, 0.5198),
    _arctic("m", 110, 0.5490),
    RecommendedModel(
        "onnx-community/granite-embedding-small-english-r2-ONNX",
        47,
        "English",
        "Apache-2.0",
        Score(
            MTEB_V1, 0.509, "https://huggingface.co/ibm-granite/granite-embedding-small-english-r2"
        ),
        pooling="cls",
    ),
    RecommendedModel(
        "nomic-ai/nomic-embed-text-v1.5",
        137,
        "English",
        "Apache-2.0",
        Score(MTEB_V2, 0.5226, _ETTIN),
        prompts=Prompts("search_document: ", "search_query: "),
    ),
    RecommendedModel(
        "intfloat/multilingual-e5-small",
        118,
        "94 languages",
        "MIT",
        None,
        prompts=Prompts("passage: ", "query: "),
    ),
    RecommendedModel(
        "onnx-community/embeddinggemma-300m-ONNX",
        308,
        "over 100 languages",
        "Gemma",
        Score(MTEB_V2, 0.5463, _ETTIN),
        prompts=Prompts("title: none | text: ", "task: search result | query: "),
    ),
)
RERANKERS = (
    _reranker("cross-encoder/ettin-reranker-17m-v1", 17, 0.5576),
    _reranker("cross-encoder/ettin-reranker-32m-v1", 32, 0.5779),
    _reranker("cross-encoder/ms-marco-MiniLM-L6-v2", 23, 0.5082),
    _reranker("mixedbread-ai/mxbai-rerank-xsmall-v1", 71, 0.4968),
)


def facts_of(model: str) -> RecommendedModel | None:
    """The facts of a model by its id, with or without a revision."""
    name = model.partition("@")[0]
    return next((one for one in (*EMBEDDERS, *RERANKERS) if one.id == name), None)
