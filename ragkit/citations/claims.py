"""Which sentences of an answer claim something that a source can support, and which do not (chapter 07).

Patterns, in English and Chinese, for what answers hold besides claims: refusals, questions, greetings, the line
before a list. A sentence is taken for a claim unless one of them fits: a claim that is passed over is worse than
a greeting that is checked.
"""

import re

from ragkit.chunking.sentences import CLOSERS
from ragkit.wording import content_stems

_PAPER = (r"(?:sources?|documents?|documentation|context|passages?|excerpts?|evidence|handbook|texts?|materials?|"
          r"information|polic(?:y|ies)|manuals?|guides?)")
_NOT = r"(?:do(?:es)?|did|could|can|is|are|was|were)(?:\s+not|n['’]t)"
_REFUSALS = [re.compile(pattern, re.IGNORECASE) for pattern in (
    rf"\b{_PAPER}\b.{{0,60}}?\b(?:{_NOT}|cannot)\s+(?:\w+\s+){{0,2}}?"
    r"(?:say|state|mention|specify|answer|address|tell|explain|indicate|discuss)\b",
    rf"\b{_PAPER}\b.{{0,60}}?\b{_NOT}\s+(?:\w+\s+){{0,2}}?(?:contain|include|provide|give|offer|have)\s+"
    r"(?:\w+\s+){0,3}?(?:information|answers?|details?|mention|evidence)\b",
    r"\b(?:I|we)\b(?:\s+\w+){0,2}?\s+(?:(?:do|did|could|can|am|are|was|were)\s+not|"
    r"(?:do|did|could|ca|are|was|were)n['’]t|cannot|am unable|was unable)\s+(?:\w+\s+){0,2}?"
    r"(?:know|find|answer|determine|say|tell|have (?:\w+\s+){0,2}information|sure)\b",
    rf"\b(?:there (?:is|are|was)(?:n['’]t)?|I (?:have|see|find|found)|{_PAPER} (?:has|have|hold|contain|provide|give)s?)"
    r"\s+(?:no|not enough|not any|any|insufficient)\s+(?:\w+\s+){0,2}?(?:information|answer|mention|details|evidence)\b",
    r"^\W*(?:no|not enough|insufficient)\s+(?:\w+\s+){0,2}?(?:information|answer|mention|details|evidence)\b.*"
    rf"\b(?:(?:available|provided|found)\b|to answer\b|in the (?:\w+\s+)?{_PAPER})",
    r"(?:\bnot|n['’]t)\s+(?:\w+\s+)?(?:mentioned|stated|specified|given|provided|found|covered|answered)\b.*"
    rf"\b{_PAPER}\b",
    r"\b(?:cannot|can\s+not|can['’]t|could\s+not|couldn['’]t)\s+be\s+(?:answered|determined|found|said)\b",
    r"(?:资料|来源|文档|文件|上下文|文中|材料|信息|原文|手册|内容).{0,12}?(?:没有|并未|未|没)"
    r"(?:明确)?(?:提到|提及|说明|说|给出|包含|提供|涉及|记载|写明|回答|找到|规定)",
    r"(?:无法|不能|没法)(?:从.{0,12})?(?:回答|确定|得知|判断|给出)",
    r"(?:没有|未能?)(?:找到|查到|相关).{0,12}?(?:信息|内容|答案|资料|说明|规定)?",
    r"我?(?:不知道|不清楚)。?$")]
# "The sources do not say X, but Y" claims Y.
_GOES_ON = re.compile(r"\s(?:but|however|although|though|instead|except|only that)\b|但|不过|然而|只提到|只说|仅",
                      re.IGNORECASE)
_ANY_NOT = re.compile(r"\b(?:not|no|cannot|unable|insufficient|any)\b|n['’]t\b|不|没|未|无法", re.IGNORECASE)

_GREETING = re.compile(
    r"(?:hello|hi|hey|dear(?: \w+){1,2}|sure|of course|certainly|absolutely|okay|ok|great question|good question|thanks?|"
    r"thank you|you(?:['’]re| are) welcome|(?:I )?hope (?:this|that) helps|(?:I(?:['’]m| am) )?happy to help|"
    r"(?:please )?(?:let me know|feel free to (?:ask|reach out))|"
    r"你好|您好|好的|当然|谢谢|不客气|希望.{0,8}帮助|如有.{0,12}(?:联系|告诉|询问))\b.{0,80}$", re.IGNORECASE)
_LEAD_IN = re.compile(r"(?:here (?:is|are)|below (?:is|are)|the following|as follows|based on|according to|in short|"
                      r"in summary|answer|summary|note|以下|如下|根据|答案|总结)\b", re.IGNORECASE)
SOURCE_LIST = re.compile(r"[\s#*_>-]*(?:sources?|references?|citations?|bibliography|来源|资料来源|参考资料|参考文献|引用)"
                         r"\s*[:：]?[\s*_]*$", re.IGNORECASE)
_LONGEST_LOOKED_AT = 600  # a sentence beyond that is no greeting and no refusal, and patterns cost time


def no_claim_reason(sentence: str) -> str:
    """Why the sentence (without its marks) claims nothing, in a word or two; "" when it is a claim."""
    text = sentence.strip().strip("*_ ")
    if len(text) > _LONGEST_LOOKED_AT:
        return ""
    if not content_stems(text):
        return "no words"  # nothing, or an answer that was cut off after "The"
    bare = text.rstrip(CLOSERS)
    if bare.endswith(("?", "？")):
        return "question"
    if bare.endswith((":", "：")) and (not re.search(r"\d", bare) or _LEAD_IN.match(bare)):
        return "lead-in"
    if _GREETING.match(text) and not re.search(r"\d", text):
        return "greeting"
    return "refusal" if is_refusal(text) else ""


def is_refusal(sentence: str) -> bool:
    """Whether the sentence says that the sources do not hold the answer, and says nothing else."""
    if not _ANY_NOT.search(sentence) or _GOES_ON.search(sentence):
        return False
    return any(pattern.search(sentence) for pattern in _REFUSALS)
