"""Questions that repeat the words of their gold sentence."""

import pytest

from ragkit.documents import load_folder
from ragkit.evaluation import load_questions
from ragkit.evaluation.giveaways import find_giveaways, word_overlap
from ragkit.evaluation.questions import Question
from ragkit.paths import data_path
from tests.fixtures import document

CAP = "A hotel room in Berlin costs at most 150 euros a night."
TRAIN = "The train to Berlin leaves at noon."
ROOM = "A meeting room in Berlin is booked for a night shift."
DOCUMENTS = [document("travel", f"{CAP} {TRAIN}"), document("rooms", ROOM)]


def ask(text: str, *groups, id_: str = "q", **more) -> Question:
    """Gold as (document, quote) pairs, one list for each group."""
    gold = [[{"document": name, "version": "1", "quote": quote} for name, quote in group] for group in groups]
    return Question(id=id_, split="dev", kind="direct" if gold else "unanswerable_far", language="en", question=text,
                    answerable=bool(gold), answer="150 euros" if gold else "", gold=gold, **more)


def overlap_of(text: str, *groups, documents=DOCUMENTS, **more):
    (found,) = word_overlap([ask(text, *groups, **more)], documents)
    return found


def test_a_copied_question_shares_all_its_words():
    copied = overlap_of("What does a hotel room cost in Berlin at most?", [("travel", CAP)])
    assert (copied.share, copied.rank) == (1.0, 1)
    assert copied.shared == ("berlin", "cost", "hotel", "most", "room"), "stems: costs and cost are one word"
    assert copied.sentences == (CAP,)


def test_a_question_in_other_words_shares_few():
    own = overlap_of("How expensive may my Berlin accommodation be?", [("travel", CAP)])
    assert own.shared == ("berlin",) and own.share == pytest.approx(1 / 3)
    assert own.rank == 3, "both other sentences hold as many of its words; of equals the gold comes last"
    none = overlap_of("How expensive is accommodation?", [("travel", CAP)])
    assert (none.share, none.shared, none.rank) == (0.0, (), 4)


def test_the_whole_sentence_counts_not_only_the_quote():
    found = overlap_of("What does a hotel room cost in Berlin?", [("travel", "at most 150 euros")])
    assert (found.share, found.sentences) == (1.0, (CAP,))
    table = document("caps", "| City | Cap |\n|---|---|\n| Berlin | 150 |\n| Leeds | 120 |\n")
    row = overlap_of("What is the cap in Leeds?", [("caps", "120")], documents=[table])
    assert row.sentences == ("| Leeds | 120 |",) and row.share == 0.5


def test_alternatives_and_groups():
    text = "What does a hotel room cost in Berlin, and when does the train leave?"
    any_of = overlap_of(text, [("travel", TRAIN), ("travel", CAP)])
    assert any_of.sentences == (CAP,), "the alternative that gives most away"
    both = overlap_of(text, [("travel", TRAIN)], [("travel", CAP)])
    assert both.share == pytest.approx(3 / 6) and len(both.sentences) == 2, "the group that gives least away"
    assert both.shared == ("berlin", "cost", "hotel", "leav", "room", "train")


def test_it_is_ranked_among_what_it_is_asked_of():
    decoy = document("decoy", "A hotel room in Berlin costs at most nothing.", topic="jokes")
    text = "What does a hotel room cost in Berlin?"
    real = document("travel", CAP, topic="travel")
    assert overlap_of(text, [("travel", CAP)], documents=[real, decoy]).rank == 2
    assert overlap_of(text, [("travel", CAP)], documents=[real, decoy], filters={"topic": "travel"}).rank == 1
    secret = document("decoy", decoy.text, audience=["board"])
    assert overlap_of(text, [("travel", CAP)], documents=[real, secret]).rank == 1
    assert overlap_of(text, [("travel", CAP)], documents=[real, secret], reader=["board"]).rank == 2


def test_find_giveaways_gives_the_worst_first():
    questions = [ask("What does a hotel room cost in Berlin?", [("travel", CAP)], id_="b"),
                 ask("Who pays when accommodation is dear?", [("travel", CAP)], id_="fair"),
                 ask("What does a nice hotel room cost in Berlin?", [("travel", CAP)], id_="c"),
                 ask("When does the train to Berlin leave?", [("travel", TRAIN)], id_="a"),
                 ask("Does anybody know?", id_="nothing")]
    found = find_giveaways(questions, {one.key: one for one in DOCUMENTS})
    assert [(one.question.id, one.share) for one in found] == [("a", 1.0), ("b", 1.0), ("c", 0.8)]
    assert [one.question.id for one in find_giveaways(questions, DOCUMENTS, most_shared=0.8)] == ["a", "b"]
    assert str(found[2]) == ("c: 80% of its words, rank 1 by words alone (berlin, cost, hotel, room): "
                             "'What does a nice hotel room cost in Berlin?'")
    beaten = [*DOCUMENTS, document("other", "The train to Berlin leaves a bit later.")]
    others = [one.question.id for one in find_giveaways(questions, beaten)]
    assert "a" not in others, "another sentence holds as many"


def test_what_cannot_be_measured_is_left_out_and_what_is_wrong_is_said():
    questions = [ask("Who are they?", [("travel", CAP)]), ask("Where do zebras sleep?", id_="none")]
    assert word_overlap(questions, DOCUMENTS) == []
    with pytest.raises(ValueError, match=r"most_shared \(1.5\) must lie in \[0, 1\]"):
        find_giveaways([], DOCUMENTS, most_shared=1.5)
    with pytest.raises(ValueError, match="holds the quote .* 0 times"):
        word_overlap([ask("Who?  Berlin?", [("travel", "not there")])], DOCUMENTS)


def test_chinese():
    manual = document("manual", "加班换来的休息要在六个月之内用完。年假可以留到明年三月。")
    found = overlap_of("年假可以留到什么时候？", [("manual", "年假可以留到明年三月。")], documents=[manual])
    assert found.rank == 1 and 0.5 < found.share < 1 and "年假" in found.shared


def test_the_handbooks_questions_hardly_give_themselves_away():
    documents = load_folder(data_path("handbook")).documents
    questions = load_questions()
    found = find_giveaways(questions, documents)
    assert len(found) < 0.05 * sum(question.answerable for question in questions)
    assert "en-a-001" in [one.question.id for one in found], "the hotel cap in Berlin, asked for in its own words"
