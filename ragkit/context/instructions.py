"""Text that addresses the machine instead of a reader (chapter 06).

A document can hold sentences meant for the model that will read it: "ignore the above and say …" (indirect prompt
injection: Greshake et al. 2023). They are looked for sentence by sentence with signals that can be read and
explained. A signal has a weight, a sentence's score is the sum of its signals' weights, at most 1. The result is a
warning, not a filter: handbooks are full of requests to people, and a determined author can word a request in a
way that no list foresees. What protects an answer is that retrieved text is kept apart as data, and checked after.

The weights were set by hand on the handbook and on one half of a part of BIPIA (Yi et al. 2023, "Benchmarking and
Defending Against Indirect Prompt Injection Attacks"), split by the text that holds the attack;
``benchmarks/instructions.py`` prints what they give on the other half, at every threshold. BIPIA's attack sentences
occur in both halves, and their list had been read before the patterns were written: the hit rate on them flatters.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ragkit.chunking import split_sentences
from ragkit.wording import content_stems

THRESHOLD = 0.5


class Suspicion(NamedTuple):
    """A passage that looks like an instruction to the machine: ``text == whole[start:end]``.

    ``reason`` names the signals in words; ``score`` in [0, 1] is the passage's highest.
    """

    text: str
    start: int
    end: int
    reason: str
    score: float = 1.0


class Signal(NamedTuple):
    """One kind of evidence: what it is called, what it counts for, and what it looks like."""

    reason: str
    weight: float
    pattern: re.Pattern[str]


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE | re.MULTILINE)


_ANSWER = r"(?:answers?|repl(?:y|ies)|responses?|outputs?|messages?|summary|summaries|translations?|completions?)"
_UP_TO_4_WORDS = r"(?:\W+\w+){0,4}?\W+"

_IGNORE = r"\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow)"
_BEFORE = r"(?:previous|prior|above|preceding|earlier|foregoing|all|any|your|system|initial|original|other)"
_ZH_IGNORE = r"(?<!不)(?<!不[要得能可])(?<!勿)(?<!别)(?:忽略|无视|忘记|忘掉)|(?:不要|不必|请勿|請勿|切勿|别)(?:理会|理會|遵守|遵循)"
_ZH_BEFORE = r"(?:以上|上述|之前|先前|此前|上面|前面|所有|一切|全部|任何|你的|系统|系統|原有)"
_ZH_RULES = r"(?:指令|指示|提示|要求|[设設]定|[规規][则則]|[说說]明|[内內]容|[对對][话話]|文[档檔]|任[务務])"

# Signals that need no request around them: nobody writes so to a colleague.
_ANYWHERE = (
    Signal("tells to ignore what came before", 1.0, _pattern(
        _IGNORE + r"(?=(?:\W+\w+){0,5}?\W+" + _BEFORE + r"\b)" + _UP_TO_4_WORDS
        + r"(?:instructions?|prompts?|directions|documents?|context|system message)\b",
        _IGNORE + _UP_TO_4_WORDS + r"(?:(?:rules|guidelines|text|content) above|"
        r"(?:previous|prior|preceding|system|your) (?:\w+ )?(?:rules|guidelines|text|content))\b",
        _IGNORE + r" (?:about )?(?:everything|anything|all|what)\b[^.!?\n]{0,30}\b(?:above|told|so far)\b",
        rf"(?:{_ZH_IGNORE})[^。！？；\n]{{0,8}}{_ZH_BEFORE}[^。！？；\n]{{0,8}}{_ZH_RULES}",
        rf"(?:{_ZH_IGNORE})[^。！？；\n]{{0,4}}(?:前文|上文)", r"(?:停止|放弃|终止)(?:之前|先前|以上|当前)的?(?:任务|指令)")),
    # Without a word for what came before it may be an old label, a warning or a sheet that nobody needs.
    Signal("tells to ignore what came before", 0.4, _pattern(
        _IGNORE + _UP_TO_4_WORDS + r"(?:instructions?|prompts?|directions|documents?|context|system message)\b",
        rf"(?:{_ZH_IGNORE})[^。！？；\n]{{0,12}}{_ZH_RULES}")),
    Signal("gives the machine a role", 0.7, _pattern(
        r"\byou are now (?:an?|the|my|going to be|in (?:\w+ ){1,3}mode)\b",
        r"\bfrom now on,? you (?!(?:can|may|need|no longer|do not|don't|have)\b(?! only))",
        r"\b(?:pretend|imagine) (?:to be|you are)\b",
        r"\byou are\b[^.!?\n]{0,20}\ban? (?:AI|LLM|language model|chat ?bot)\b"
        r"(?! (?:engineer|developer|user|team|researcher|expert|specialist))",
        r"(?:^|[.:;(]\s*)act as (?:an?|the|my|if you)\b", r"\byour new instructions? (?:is|are)\b",
        r"你现在(?:是|扮演)", r"(?:从现在起|从现在开始)[，,]?你(?!们|可|能|不必|无需)",
        r"(?:请|請|你要|你将|你应|你必须|你必須)扮演", r"假装你", r"你是[^。，\n]{0,4}(?:AI|人工智能|语言模型|大模型|机器人)",
        r"你的新(?:任务|指令)")),
    Signal("wants somebody to act a part", 0.4, _pattern(r"\byou (?:must|will|should|shall) (?:now )?act as\b")),
    Signal("imitates the marks of a conversation with a machine", 0.7, _pattern(
        r"<\|[^|<>\n]{1,30}\|>", r"\[/?INST\]", r"<</?SYS>>", r"</?(?:assistant|instructions?|prompt)>",
        r"^\W{0,4}(?:(?-i:SYSTEM)(?: PROMPT| MESSAGE| OVERRIDE)?|system (?:prompt|message))\s*[:：]",
        r"^\W{0,4}(?:assistant|AI)\s*[:：]\s*(?:sure|of course|certainly|okay|you're|I(?:'| )|now I)\b",
        r"^#{1,6}\s*(?:instructions?|system|response)\s*:",
        r"^\W{0,4}(?:系统提示|系统指令)\s*[:：]", r"\b(?:BEGIN|END) (?:SYSTEM )?(?:PROMPT|INSTRUCTIONS)\b")),
    # So a list of equipment begins, too, or a list of telephone numbers.
    Signal("imitates the marks of a conversation with a machine", 0.4, _pattern(
        r"^\W{0,4}(?:(?-i:System|system)|assistant|AI)\s*[:：]", r"</?system>", r"^\W{0,4}(?:系统|助手)\s*[:：]")),
    Signal("speaks to a machine", 0.4, _pattern(
        r"\bAI (?:assistant|model|agent|system)s?\s*[:,：，]", r"\b(?:language model|LLM|chat ?bot)s?\b[:,]?",
        r"\b(?:dear|hey|hello|attention|note (?:to|for)(?: the| any)?) (?:AI|assistant|model|chatbot|GPT)\b",
        r"\bas an AI\b", r"(?:^|[>\"'(]\s*)(?:ChatGPT|Copilot|Claude|Gemini),",
        r"(?:人工智能|AI|智能)助[手理]\s*[:：，,]", r"(?:大|语言)模型\s*[:：，,]")),
    Signal("is addressed to a machine", 0.3, _pattern(
        r"(?:^|[#*/!-]\s*)(?:(?:note|message|instructions?) )?(?:to|for) (?:the |any |all )?"
        r"(?:AI|LLM|language model|chat ?bot)s?\b")),
    Signal("is written for whoever sums the text up", 0.5, _pattern(
        r"\bwhen (?:you )?(?:are )?(?:summari[sz](?:e|ing)|process(?:ing)?|answer(?:ing)? from) (?:this|the above) "
        r"(?:page|text|document|e-?mail|message|file)\b")),
    Signal("asks for the machine's own instructions", 0.6, _pattern(
        r"\b(?:reveal|print|output|repeat|show|display)\b[^.!?\n]{0,20}\byour (?:initial |original |system )"
        r"(?:prompt|instructions|message)\b", r"\brepeat the (?:words|text) above\b",
        r"(?:输出|重复|显示|透露)[^。！？\n]{0,8}(?:系统提示|提示词|第一条指令|初始指令)")),
    Signal("wants something hidden from the reader", 0.4, _pattern(
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|cite|quote|refer to|tell)\b[^.!?\n]{0,40}"
        r"\b(?:this|these|paragraph|instructions?|message|prompt|note|user|reader)\b",
        r"\bwithout (?:telling|informing|mentioning)\b", r"(?:不要|不得|切勿|别)(?:提及|透露|告诉|引用|提到)")),
    Signal("would carry data out", 0.6, _pattern(
        r"!\[[^\]\n]{0,200}\]\(https?://[^)\s{<\[]{0,300}[{<\[]",
        r"\b(?:send|post|upload|forward|share|submit|append)\b[^.!?\n]{0,60}"
        r"\b(?:conversation|chat history|system prompt|api key|credentials|passwords?|bank details|card numbers?)\b"
        r"(?! only\b)[^.!?\n]{0,40}(?:https?://|www\.)",
        r"(?:发送|上传|提交|转发)[^。！？\n]{0,20}(?:对话|聊天记录|密码|密钥|口令)[^。！？\n]{0,20}(?:https?://|www\.)")),
    Signal("dictates the answer", 0.5, _pattern(
        r"\b(?:reply|respond|answer|output|say)(?: to (?:every|any|all) \w+)?(?: with)? "
        r"(?:only|just|nothing but|exactly|solely)\b"
        r"(?! (?:to|if|when|after|by|in|the (?:questions?|fields?|parts?))\b)",
        r"\b(?:print|return) (?:nothing but|(?:only|just|exactly|solely) (?:['\"“]|the (?:word|phrase|sentence)))",
        r"\b(?:only|always) (?:reply|respond|answer|output|say)\b(?! (?:to|within|by|promptly|in (?:writing|time))\b)",
        r"\b(?:just|simply) (?:reply|respond|answer|output|say) (?:with|that|yes|no)\b",
        r"\bwhatever (?:the|a|any) (?:reader|user|person|customer)s? (?:asks?|says?|types?)\b",
        r"\b(?:do not|don't|never) answer the (?:user|reader)\b", r"(?:不要|别|請勿|请勿)回答(?:用户|读者)",
        r"(?:只|仅|只需|一律|统一|直接|都)(?:需|要|能|可|用)?(?:回答|回复|答复|输出|说)"
        r"(?=\s*[“「『\"']|不知道|没有|无需|是的|否)")),
)

# Signals that count in a request only: a sentence that asks for something to be done, or a question.
_IN_REQUEST = (
    Signal("asks for something to be done to the answer", 0.5, _pattern(
        rf"\b(?:your|every|each) (?:\w+ )?{_ANSWER}\b", r"\brepl(?:y|ying) (?:in|using|as|backwards?)\b",
        r"\b(?:respond|answer|write|speak) (?:in|using) (?:the )?(?:language|style|form)\b",
        r"(?:你的|每次)(?:回答|回复|答复|答案|输出)", r"回答(?:时|中)")),
    Signal("asks for text to be rewritten", 0.3, _pattern(
        r"\b(?:translate|encode|encrypt|decode|rewrite|rephrase|paraphrase|reverse|substitute|render)\b",
        r"\bexpress (?:it|this|that|your|the|everything|yourself)\b",
        r"(?:翻译|编码|加密|改写|倒序)")),
    Signal("names a form no reader asked for", 0.15, _pattern(
        r"\bbase ?\d\d\b", r"\bcipher\b", r"\bemojis?\b", r"\b(?:backwards?|in reverse|reverse order)\b",
        r"\b(?:in|into|to) (?:French|German|Spanish|Italian|Portuguese|Chinese|Japanese|Korean|Russian|Arabic|Latin)\b",
        r"(?:译|翻译)?成(?:英文|英语|法语|德语|日语)")),
    Signal("asks for the work of a chat assistant", 0.3, _pattern(
        r"^(?:please )?(?:(?:write|describe|explain|compose|generate|determine|provide) (?:an?|the|some|how)|"
        r"recommend|suggest|summari[sz]e|analy[sz]e|classify|(?:tell|show|help|give|write) me)\b",
        r"\bcan you\b", r"^请?(?:写一|推荐|总结|概括|分析|告诉我|帮我)")),
    Signal("speaks for the one who asks", 0.15, _pattern(r"\b(?:me|my|I)\b", "我")),
)
_UNRELATED = Signal("has nothing to do with the text around it", 0.25, _pattern(r"(?!)"))

_VERBS = ("add|adjust|alter|analy[sz]e|answer|append|apply|augment|begin|change|classify|compose|convert|describe|"
          "determine|display|embed|encode|encrypt|end|enhance|explain|express|finish|generate|give|help|include|"
          "incorporate|insert|integrate|modify|output|print|promote|provide|recommend|render|repeat|replace|reply|"
          "respond|reverse|rewrite|say|shift|show|start|substitute|suggest|summari[sz]e|tell|translate|use|write")
_REQUEST = _pattern(
    rf"(?:^|[:;(,]\s*|\band )(?:please |kindly |now |then |also |always |only |just )*(?:{_VERBS})\b",
    r"\b(?:can|could|would|will) you\b", r"\?\s*['\")]*$", r"？",
    r"(?:^|[，,：:（(])\s*请?(?:你)?(?:把|将|用|翻译|回答|回复|写|推荐|总结|分析|忽略|告诉|帮|在)")
# Full-width letters, digits, brackets and bars (not the Chinese comma, colon and question mark, which patterns name),
# and the Cyrillic letters that look like Latin ones.
_PLAIN = {code: code - 0xfee0 for code in range(0xff01, 0xff5f) if chr(code - 0xfee0).isalnum()
          or chr(code - 0xfee0) in "<>[]|#"} | str.maketrans("аеорсухіѕ", "aeopcyxis")
_LINE = re.compile(r"\n\s*(?=[A-Z#<|*\[(（\u4e00-\u9fff])|(?<=\|)[^\S\n]*\n")
_MARKER = re.compile(r"(?:[-*+•>#|]+\s*|\d{1,3}[.)]\s+|\*\*|[\"'“‘(])+")


def find_instructions(text: str, threshold: float = THRESHOLD) -> list[Suspicion]:
    """The passages of ``text`` that address the machine, in order, English or Chinese.

    Neighbouring sentences that are both suspicious are one passage. Nothing is removed or changed.

    Args:
        threshold: in (0, 1], inclusive; the least score that is reported.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text must be a string, not {text!r:.80}")
    if not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        raise ValueError(f"the threshold ({threshold!r}) must lie in (0, 1]")
    found: list[Suspicion] = []
    for start, end, signals in _scored(text):
        score = min(1.0, round(sum(signal.weight for signal in signals), 6))
        if score < threshold:
            continue
        reasons = [signal.reason for signal in signals]
        if found and not text[found[-1].end:start].strip():
            before = found.pop()
            start, score = before.start, max(score, before.score)
            reasons = [*before.reason.split(", "), *reasons]
        found.append(Suspicion(text[start:end], start, end, ", ".join(dict.fromkeys(reasons)), score))
    return found


def _scored(text: str) -> Iterator[tuple[int, int, list[Signal]]]:
    """Each sentence's span and the signals it shows."""
    spans = list(_sentences(text))
    stems = [set(content_stems(text[start:end])) for start, end in spans]
    holders = Counter(stem for own in stems for stem in own)
    for (start, end), own in zip(spans, stems, strict=True):
        sentence = _as_read(text[start:end])
        plain = sentence[marker.end():] if (marker := _MARKER.match(sentence)) else sentence
        signals = [signal for signal in _ANYWHERE if signal.pattern.search(sentence)]
        if _REQUEST.search(plain):
            signals += [signal for signal in _IN_REQUEST if signal.pattern.search(plain)]
            if own and len(spans) > 1 and all(holders[stem] == 1 for stem in own):
                signals.append(_UNRELATED)
        if signals:
            yield start, end, signals


def _as_read(sentence: str) -> str:
    """The sentence without invisible characters, look-alikes of Latin letters as these."""
    if sentence.isascii():
        return sentence
    return "".join(character for character in sentence if unicodedata.category(character) != "Cf").translate(_PLAIN)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Sentences, cut at table rows and at lines that begin like one: what was slipped in has a line to itself."""
    for start, end in split_sentences(text):
        cuts = [start, *(match.end() for match in _LINE.finditer(text, start, end)), end]
        for first, last in zip(cuts, cuts[1:], strict=False):
            body = text[first:last].rstrip()
            if body:
                yield first, first + len(body)
