"""What kind of thing a question asks for, and whether a text holds one (chapter 05).

"How much is a parking permit?" wants an amount of money; a page about parking permits that names none does not
answer it. The expected answer type is among the oldest signals of question answering: Hovy et al. (2001), "Toward
Semantics-Based Answer Pinpointing"; Li & Roth (2002), "Learning Question Classifiers". The rules here are few and
readable, in English and Chinese; a question that none fits has no kind, and nothing is asked of its evidence.
"""

import re
from typing import NamedTuple

from ragkit.wording import Word, words

# Bounds by letters of the alphabet, for \b sees none between a digit and a Chinese character.
_START, _END = r"(?<![A-Za-z\d])", r"(?![A-Za-z\d])"


def _any_of(alternatives: str) -> str:
    return rf"{_START}(?:{'|'.join(alternatives.split())}){_END}"


_NUMBER_WORD = _any_of("""one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half once twice""")
_DIGITS = r"(?<![A-Za-z\d_.,-])\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?(?!\.?\d)"  # not those of "E-412" or "S-14"
_NUMBER = rf"{_DIGITS}|{_NUMBER_WORD}"
_NUMBER_ZH = r"[一二两三四五六七八九十百千万半]+\s?[个人名次台套张份件页层倍天元℃]"
_CURRENCY = r"(?:€|£|\$|¥|eur|euros?|gbp|pounds?|usd|dollars?|cny|rmb|yuan|cents?|pence|chf|francs?)"
_MONEY = (rf"{_CURRENCY}\s?\d|\d\s?{_CURRENCY}{_END}|{_NUMBER_WORD}\s{_CURRENCY}{_END}|{_any_of('free')}|no charge")
_MONEY_ZH = r"[\d万千百]\s?(?:元|块|人民币)|免费"
_PERIOD = (r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekdays?|months?|quarters?|years?|decades?|"
           r"centur(?:y|ies)|fortnights?|mornings?|afternoons?|evenings?|noon|midnight)")
_NAMED_DAY = (r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
              r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?)")
_WHEN = (rf"\d{{1,2}}[.:]\d\d|\d\s?[ap]\.?m{_END}|{_START}[12]\d{{3}}s?{_END}|{_START}(?:{_NAMED_DAY}|{_PERIOD}){_END}|"
         + _any_of("""before after until during once immediately today daily weekly monthly quarterly yearly annually
                   always never spring summer autumn winter easter christmas"""))
_WHEN_ZH = (r"[\d一二两三四五六七八九十半]\s?(?:个?(?:小时|月|星期|工作日)|分钟|秒|天|日|周|年|点|时)|"
            r"周[一二三四五六日末]|星期|每[天日周月年季]|立即|马上|当[天日]")
_ROLE = _any_of("""managers? leaders? lead heads? directors? officers? teams? desk departments? engineers? owners?
    partners? council board committee groups? staff reception warden colleagues? supervisors? president king queen
    emperor scientists? authors? everyone anyone nobody employees? people persons? company companies suppliers?
    providers? customers? users? holders?""")
_ROLE_ZH = "[部科组]|经理|主管|人员|员工|班长|负责人|专员|工程师|主任"
_PLACE = _any_of("""rooms? floor building offices? desk lab warehouse portal folder page form shelf cabinet entrance
    site north south east west northern southern eastern western coast coastal rivers? regions? areas? city cities
    country countries""")
_REASON = _any_of("""because since so due reason causes? caused as means therefore avoid otherwise for to results?
    resulted led leads?""")
_CAPITALISED = r"(?-i:(?<=[\w,;(] )[A-Z][a-z]+)"
_FAR = ".{0,300}"  # as far as a question goes on; without an end the search would take time by the square of the length
_COSTS = _any_of("cost costs price prices priced fee fees charge charged charges spend spent pay pays paid worth earn")
_AUXILIARY = r"(?:do|does|did|is|are|was|were|be|can|could|may|might|must|should|shall|will|would|has|have|had|'s)"
_PREPOSITION = (r"(?:for|in|on|at|to|with|from|by|when|if|than|into|after|before|during|under|between|that|which|who|"
                r"over|about)")


class AnswerType(NamedTuple):
    """A kind of answer: its name in words, the questions that ask for it, and what it looks like in a text."""

    name: str
    asked: re.Pattern[str]
    found: re.Pattern[str]

    def is_in(self, text: str, question: str) -> bool:
        """Whether ``text`` holds one that is not merely repeated from the question."""
        known = {word.stem for word in words(question)}
        return any(not known.issuperset(word.stem for word in words(match[0])) or not words(match[0])
                   for match in self.found.finditer(text))


def _type(name: str, asked: str, found: str, asked_zh: str = "", found_zh: str = "") -> AnswerType:
    def either(*patterns: str) -> re.Pattern[str]:
        return re.compile("|".join(pattern for pattern in patterns if pattern), re.IGNORECASE)

    return AnswerType(name, either(asked, asked_zh), either(found, found_zh))


MONEY = "an amount of money"
# The first that fits is the one asked for, so the narrow ones stand before the wide ones.
ANSWER_TYPES = (
    _type("a telephone number", r"\b(?:tele)?phone number|\bwhat number (?:do|can|should) i (?:call|ring)",
          r"(?:\+|\b0)\d[\d\s()/-]{5,}\d", "电话号?码?是"),
    _type("an e-mail address", r"\be-?mail address", r"\S+@\S+\.\w+", "邮箱(?:地址)?是"),
    _type("a percentage",
          r"\b(?:what|which) (?:percentage|percent|per cent|share|proportion|fraction)|\bhow many percent",
          r"\d\s?%|\bper ?cent|\bhalf\b|\b(?:one|two|three)[ -](?:third|quarter|fifth)s?\b",
          "百分之几|比例是", "百分之|[一二三四]成"),
    _type("a length of time",
          r"\bhow (?:long|soon|quickly|fast|often|frequently|old|early|late|far ahead)\b|"
          rf"\bhow (?:much|many) (?:time|notice|{_PERIOD})", rf"{_WHEN}|{_any_of('per every each')}",
          "多久|多长时间|几(?:天|年|小时|个月|分钟)|多少(?:天|年|小时|分钟)", _WHEN_ZH),
    _type(MONEY,
          rf"\bhow (?:much|expensive)\b(?={_FAR}{_COSTS})|\bhow (?:expensive|much money)|"
          rf"\bhow much (?:is|are|was|were)\b|"
          rf"\bwhat\b{_FAR}\b(?:costs?|price|fee|fare|fine|salary|mileage rate|budget)\b|"
          rf"\bwhat (?:do|does|did) {_FAR}\bcharge|^(?:list )?price of\b",
          _MONEY, "多少(?:钱|元)|价格|费用是", _MONEY_ZH),
    _type("a year", r"\b(?:what|which) year\b", rf"{_START}[12]\d{{3}}{_END}", "哪一?年"),
    _type("a date or time",
          r"(?:^|[.,;:?!] (?:and |or )?|\b(?:and|by|since) )when (?:do|does|did|is|are|was|were|can|could|may|might|"
          rf"must|should|will|has|have)\b|\b(?:what|which|by what) (?:date|time|weekday|{_PERIOD})\b",
          _WHEN, "什么时候|何时|几[点号月]|哪一?天|星期几|周几", _WHEN_ZH),
    _type("a number", r"\bhow (?:many|much|far|heavy|tall|high|large|big|deep|wide|hot|cold|loud|thick)\b", _NUMBER,
          "多少|几[个人名次台套张份件层]", _NUMBER_ZH),
    _type("a person's name",
          rf"\bwho (?:is|was|are|were) (?:the|our)\b|\bwhat(?:'s|’s| is| was) (?:the )?{_FAR}\bname\b",
          r"(?-i:[A-Z][\w.]+ (?:(?:de|la|von|van|of) )*[A-Z][a-z]+|[A-Z]\w+ (?:team|desk|department))"),
    _type("a person or a role",
          r"\b(?:who|whom|whose)\b|\b(?:what|which) (?:person|team|manager|department|role)\b",
          rf"{_CAPITALISED}|{_ROLE}", "谁|哪个部门|哪位", _ROLE_ZH),
    _type("a place",
          r"\bwhere\b|\b(?:what|which) (?:city|country|room|building|floor|office|place|state|continent)\b",
          rf"{_CAPITALISED}|{_PLACE}", "哪里|哪儿|在哪", "[楼室区处库门层房厅]"),
    _type("a colour", r"\b(?:what|which) colou?rs?\b",
          _any_of("white black gr[ae]y red green blue yellow orange brown silver purple pink beige"),
          "什么颜色", "[红黄蓝绿白黑灰橙]色?"),
    _type("a reason", r"\bwhy\b", _REASON, "为什么|为何|什么原因", "因为|由于|原因|所以|以免|避免|为了|防止"),
)

# Nouns that ask for a kind of answer, which is looked at above, or that name no thing at all.
_LIGHT_NOUNS = frozenset("""kind kinds type types sort name number word term part way amount day date year time month
    place thing piece example form state people person title price fee cost fare charge""".split())
_NOUNS = rf"(?P<focus>(?:(?!{_AUXILIARY}\b|{_PREPOSITION}\b)[\w'’-]+\s*){{1,4}}?)"
_FOCUS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (
    rf"\b(?:how (?:many|much)|which|what)\s+{_NOUNS}(?=\b(?:{_AUXILIARY}|{_PREPOSITION})\b)",
    rf"\b(?:what|who)(?:['’]s| is| are| was| were) (?:the|an?) {_NOUNS}(?=\bof\b|\b{_PREPOSITION}\b|\?|$)",
    rf"\b(?:is|are|was|were) there (?:an? |any )?{_NOUNS}(?=\bof\b|\b{_PREPOSITION}\b|\?|$)",
))
_CUE = re.compile(r"\b(?:how (?:much|many|long|soon|quickly|fast|often|frequently|old|early|late|far|heavy|tall|high|"
                  r"large|big|deep|wide|expensive)|what|which|who|when|where|why|whom|whose)\b", re.IGNORECASE)
_COST_WORDS = frozenset("cost costs price prices fee fees charge charges expensive".split())


def expected_answer(question: str) -> AnswerType | None:
    """The kind of answer that a question asks for; None when no rule fits."""
    return next((kind for kind in ANSWER_TYPES if kind.asked.search(question)), None)


def focus(question: str) -> list[Word]:
    """The words that say what is asked for: "airline" in "Which airline should I pick?"; none when no rule fits.

    Only English: "which …", "how many …", "what is the … of", "is there a …".
    """
    for pattern in _FOCUS:
        match = pattern.search(question)
        inside = [] if match is None else [word for word in words(question) if word.is_content
                                           and match.start("focus") <= word.start < match.end("focus")]
        if inside:
            return [word for word in inside if word.text.lower() not in _LIGHT_NOUNS]
    return []


def keywords(question: str) -> list[Word]:
    """The content words of a question that an answer should share, each once.

    Left out is what asks: "how long", and "cost" where an amount of money is asked for, which an answer gives
    without the word. A question of such words alone keeps them.
    """
    asking = {position for match in _CUE.finditer(question) for position in range(*match.span())}
    kind = expected_answer(question)
    idle = _COST_WORDS if kind is not None and kind.name == MONEY else frozenset()
    all_of_it = [word for word in words(question) if word.is_content]
    kept = [word for word in all_of_it if word.text.lower() not in idle and word.start not in asking]
    return list({word.stem: word for word in kept or all_of_it}.values())
