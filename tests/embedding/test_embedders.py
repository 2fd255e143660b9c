"""What every embedder keeps to, and what is special about each."""

import numpy as np
import pytest

from ragkit.embedding import (
    CachedEmbedder,
    Embedder,
    HashingEmbedder,
    MultilingualEmbedder,
    SentenceTransformerEmbedder,
    make_embedder,
    token_embedder,
    too_long,
)
from tests.fixtures import minilm, python

MAKERS = {"hashing": HashingEmbedder, "minilm": minilm, "multilingual": lambda: make_embedder("multilingual")}
TEXTS = ["The hotel cap in Berlin is 140 euros.", "How much may I spend on accommodation?", "printer"]


@pytest.fixture(params=MAKERS)
def embedder(request):
    return MAKERS[request.param]()


def test_rows_are_float32_of_length_one(embedder):
    assert isinstance(embedder, Embedder)
    for encode in (embedder.encode_queries, embedder.encode_passages):
        vectors = encode(TEXTS)
        assert (vectors.shape, vectors.dtype) == ((3, embedder.dimension), np.float32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(vectors, encode(TEXTS))
        assert encode([]).shape == (0, embedder.dimension)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder):
    together = embedder.encode_passages([*TEXTS, "long " * 300])
    for position, text in enumerate(TEXTS):
        np.testing.assert_allclose(embedder.encode_passages([text])[0], together[position], atol=2e-6)


def test_a_lone_string_or_no_text_is_refused(embedder):
    for encode in (embedder.encode_queries, embedder.encode_passages):
        with pytest.raises(TypeError, match="put it in a list"):
            encode("a question")
        with pytest.raises(TypeError, match="NoneType"):
            encode(["a question", None])


def test_odd_texts_give_finite_rows(embedder):
    vectors = embedder.encode_passages(["", " \n\t", "\x00", "?!", "🙂" * 40, "ﷺ", "a" * 5000, "中文"])
    assert np.isfinite(vectors).all()
    assert np.all(np.linalg.norm(vectors, axis=1) < 1 + 1e-5)
    assert embedder.count_tokens("one two three") >= 3


def test_hashing_sees_words_only():
    embedder = HashingEmbedder()
    hotel, same, other = embedder.encode_passages(["The hotel cap", "the HOTEL, cap!", "accommodation limit"])
    assert hotel @ same == pytest.approx(1)
    assert abs(hotel @ other) < 0.01
    assert not embedder.encode_passages(["", "?!"]).any(), "zeros where it sees no word"
    assert embedder.count_tokens("差旅 policy") == 3, "a Chinese character is a word of its own"
    overlap = embedder.encode_passages(["差旅标准", "差旅政策"])
    assert overlap[0] @ overlap[1] == pytest.approx(0.5)


def test_hashing_is_the_same_in_every_process(tmp_path):
    # Python's own hash() of a string is another in each process.
    script = "from ragkit.embedding import HashingEmbedder as H; print(H(16).encode_passages(['hotel cap, 差旅']).tolist())"
    outputs = {python("-c", script, cache=tmp_path).stdout for _ in range(2)}
    assert outputs == {f"{HashingEmbedder(16).encode_passages(['hotel cap, 差旅']).tolist()}\n"}


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True])
def test_hashing_refuses_a_dimension(dimension):
    with pytest.raises(ValueError, match="at least 1"):
        HashingEmbedder(dimension)


def test_minilm_sees_meaning_where_hashing_does_not():
    question, right, wrong = ("How much may I spend on accommodation?", "The hotel cap in Berlin is 140 euros.",
                              "How much paper may I put into the printer?")
    def scores(embedder):
        return embedder.encode_passages([right, wrong]) @ embedder.encode_queries([question])[0]
    assert scores(minilm()).argmax() == 0
    assert scores(HashingEmbedder()).argmax() == 1


def test_minilm_is_bundled():
    embedder = minilm()
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)
    assert (embedder.query_prefix, embedder.passage_prefix) == ("", "")
    assert embedder.count_tokens("hotel") == 3, "the start and end marks count"


def test_what_the_model_does_not_read_is_reported():
    embedder = minilm()
    limit = embedder.max_tokens - 2
    texts = ["hotel " * limit, "hotel " * (limit + 1), "short", "a" * 250, "x y " * 400]
    assert too_long(embedder, texts) == [(1, 257), (4, 802)]
    one, two = embedder.encode_passages(["hotel " * limit + "alpha", "hotel " * limit + "printer"])
    np.testing.assert_array_equal(one, two)
    assert too_long(HashingEmbedder(), texts) == []


def test_a_character_can_be_several_tokens():
    class Bytes(HashingEmbedder):
        max_tokens = 10

        def count_tokens(self, text):
            return len(text.encode())

    assert too_long(Bytes(), ["abcdefghij", "中文中文", "🙂🙂"]) == [(1, 12)]


def test_chinese_is_for_the_multilingual_embedder():
    embedder = make_embedder("multilingual")
    assert isinstance(embedder, MultilingualEmbedder)
    assert (embedder.dimension, embedder.max_tokens) == (512, None)
    question = "住酒店一晚最多可以报销多少钱？"
    passages = ["出差住宿标准：每晚不超过四百元。", "食堂的开放时间是中午十一点半到一点。", "空压机每季度保养一次。"]
    scores = embedder.encode_passages(passages) @ embedder.encode_queries([question])[0]
    assert scores.argmax() == 0
    across = embedder.encode_passages(["年假有多少天？", "How many days of annual leave?", "How do I reset the router?"])
    assert across[0] @ across[1] > across[0] @ across[2] + 0.2
    assert embedder.count_tokens("年假有多少天？") > 1


def test_names_give_embedders_and_models_are_loaded_once():
    assert isinstance(make_embedder("hashing"), HashingEmbedder)
    assert make_embedder("multilingual") is make_embedder("multilingual")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A BERT of a few thousand random numbers, in a folder called like an E5 model."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", "query", "passage", "ask", "hotel", "cap", "printer"]
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                         intermediate_size=16, max_position_embeddings=16)).save_pretrained(folder / "bert")
    vocabulary = {word: number for number, word in enumerate(words)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=16).save_pretrained(folder / "bert")

    def save(name: str, **prompts):
        transformer = Transformer(str(folder / "bert"))
        transformer.max_seq_length = 16
        model = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension())],
                                    device="cpu", **prompts)
        model.save(str(folder / name))
        return folder / name

    return save


def test_a_folder_is_named_by_its_content(tiny_model, tmp_path):
    folder = tiny_model("tiny")
    embedder = SentenceTransformerEmbedder(folder)
    assert (embedder.dimension, embedder.max_tokens) == (16, 16)
    assert embedder.name.startswith("tiny-") and embedder.name == SentenceTransformerEmbedder(str(folder)).name
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # the last layer trained on, names and sizes as before
    weights.write_bytes(content)
    assert SentenceTransformerEmbedder(folder).name != embedder.name


def test_prefixes_are_added_inside(tiny_model):
    plain, e5 = SentenceTransformerEmbedder(tiny_model("tiny")), SentenceTransformerEmbedder(tiny_model("tiny-e5-small"))
    assert (plain.query_prefix, plain.passage_prefix) == ("", "")
    assert (e5.query_prefix, e5.passage_prefix) == ("query: ", "passage: ")
    np.testing.assert_allclose(e5.encode_queries(["hotel cap"]), plain.encode_passages(["query: hotel cap"]), atol=1e-6)
    np.testing.assert_allclose(e5.encode_passages(["hotel cap"]), plain.encode_queries(["passage: hotel cap"]),
                               atol=1e-6)
    assert not np.allclose(e5.encode_queries(["hotel cap"]), e5.encode_passages(["hotel cap"]), atol=1e-3)
    assert e5.count_tokens("hotel cap") == plain.count_tokens("hotel cap") + 2
    assert e5.name.endswith("[query: |passage: ]"), "other prefixes, other vectors, another name in the cache"
    off = SentenceTransformerEmbedder(tiny_model("tiny-e5-small"), query_prefix="", passage_prefix="")
    np.testing.assert_allclose(off.encode_queries(["hotel"]), plain.encode_queries(["hotel"]), atol=1e-6)


def test_the_models_own_prompts_are_used_once(tiny_model):
    plain = SentenceTransformerEmbedder(tiny_model("tiny"))
    own = SentenceTransformerEmbedder(tiny_model("tiny-own", prompts={"query": "ask ", "document": "cap "},
                                                 default_prompt_name="query"))
    assert (own.query_prefix, own.passage_prefix) == ("ask ", "cap ")
    np.testing.assert_allclose(own.encode_queries(["hotel"]), plain.encode_queries(["ask hotel"]), atol=1e-6)
    np.testing.assert_allclose(own.encode_passages(["hotel"]), plain.encode_queries(["cap hotel"]), atol=1e-6)


def test_only_a_name_with_e5_in_it_is_an_e5(tiny_model):
    assert SentenceTransformerEmbedder(tiny_model("phone5g")).query_prefix == ""
    assert SentenceTransformerEmbedder(tiny_model("E5_base")).query_prefix == "query: "


def test_a_model_that_cannot_be_had_is_said_so(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="no model folder"):
        SentenceTransformerEmbedder("./not-there")
    with pytest.raises(RuntimeError, match=r"(?s)model .*empty.* cannot be loaded"):
        SentenceTransformerEmbedder(_empty(tmp_path / "empty"))


def _empty(folder):
    folder.mkdir()
    return folder


def test_the_cache_goes_by_the_name(tiny_model, tmp_path):
    folder = tiny_model("tiny")
    one = CachedEmbedder(SentenceTransformerEmbedder(folder), tmp_path)
    two = CachedEmbedder(SentenceTransformerEmbedder(folder, passage_prefix="cap "), tmp_path)
    assert not np.allclose(one.encode_passages(["hotel"]), two.encode_passages(["hotel"]), atol=1e-4)


def test_token_vectors_stand_for_the_words_of_the_text():
    embedder = SentenceTransformerEmbedder()
    text = "Berlin hotels cost 150 euros."
    (tokens,) = embedder.encode_tokens([text])
    assert [text[start:end] for start, end in tokens.spans] == ["Berlin", "hotels", "cost", "150", "euros", "."]
    assert tokens.vectors.shape == (6, embedder.dimension)
    assert np.allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)
    (other,) = embedder.encode_tokens(["A lodging in Hamburg"])
    near = tokens.vectors @ other.vectors.T
    assert near[1].argmax() == 1  # "hotels" is nearest to "lodging"


def test_token_vectors_of_nothing_and_of_much():
    empty, long = minilm().encode_tokens(["", "a " * 400])
    assert empty.vectors.shape == (0, 384) and empty.spans.shape == (0, 2)
    assert len(long.vectors) == len(long.spans) == 254  # the model reads 256, of which two are its own marks


def test_a_cache_passes_its_embedder_on_for_tokens(tmp_path):
    embedder = SentenceTransformerEmbedder()
    assert token_embedder(CachedEmbedder(embedder, tmp_path)) is embedder
    assert token_embedder(HashingEmbedder()) is None


@pytest.mark.parametrize("make", [SentenceTransformerEmbedder, MultilingualEmbedder])
def test_half_a_surrogate_pair_is_read_as_an_unknown_character(make):
    embedder, broken, mended = make(), "hotel \ud83d cap", "hotel \ufffd cap"
    assert np.allclose(embedder.encode_queries([broken]), embedder.encode_queries([mended]), atol=1e-6)
    assert embedder.count_tokens(broken) == embedder.count_tokens(mended)
    if hasattr(embedder, "encode_tokens"):
        assert embedder.encode_tokens([broken])[0].spans.max() <= len(broken)
