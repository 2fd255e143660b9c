"""Units: their names in text, and what they are in the base unit of their kind.

Only conversions that are exact everywhere are made: a week is seven days, a year twelve months; a month is no
number of days, and a working day no number of hours.
"""

import re

# name: (base unit, factor to the base unit). English plurals in "s" are added below.
_WORDS: dict[str, tuple[str, float]] = {}
for _names, _base, _factor in (
        ("euro eur €", "EUR", 1), ("dollar usd $ us$", "USD", 1), ("pound gbp £", "GBP", 1),
        ("pence penny", "GBP", 0.01),
        ("yuan cny rmb renminbi ¥ 元 块 人民币", "CNY", 1), ("cent", "cent", 1), ("欧元", "EUR", 1), ("美元", "USD", 1),
        ("英镑", "GBP", 1), ("% percent pct ％ 个百分点", "%", 1), ("‰", "%", 0.1),
        ("second sec s 秒 秒钟", "minute", 1 / 60), ("ms millisecond 毫秒", "minute", 1 / 60_000),
        ("minute min 分钟 分", "minute", 1), ("hour hr h 小时 个小时 钟头", "minute", 60),
        ("day 天 日 个自然日 自然日", "minute", 1440), ("week 周 星期 个星期", "minute", 10_080), ("night 晚", "night", 1),
        ("month 个月", "month", 1), ("quarter 个季度", "month", 3), ("year yr 年 周年 岁 周岁", "month", 12), ("decade", "month", 120),
        ("kilometre kilometer km 公里 千米", "m", 1000), ("metre meter m 米", "m", 1),
        ("centimetre centimeter cm 厘米", "m", 0.01),
        ("millimetre millimeter mm 毫米", "m", 0.001), ("micrometre micrometer µm μm um 微米", "m", 1e-6),
        ("nm", "m", 1e-9),
        ("mile", "mile", 1), ("inch inches", "inch", 1), ("foot feet ft", "foot", 1),
        ("kilogram kg 公斤 千克", "g", 1000), ("gram g 克", "g", 1), ("milligram mg 毫克", "g", 0.001), ("µg μg", "g", 1e-6),
        ("tonne ton 吨", "g", 1e6), ("litre liter l 升", "l", 1), ("millilitre milliliter ml 毫升", "l", 0.001),
        ("byte", "byte", 1), ("kb", "kB", 1), ("megabyte mb", "MB", 1), ("gigabyte gb", "GB", 1),
        ("terabyte tb", "TB", 1),
        ("hz hertz 赫兹", "Hz", 1), ("khz", "Hz", 1000), ("mhz", "Hz", 1e6), ("ghz", "Hz", 1e9),
        ("°c ℃ 摄氏度 度", "°C", 1), ("°f", "°F", 1), ("volt v 伏", "V", 1), ("mv", "V", 0.001),
        ("ampere amp a", "A", 1), ("ma", "A", 0.001), ("watt w 瓦", "W", 1), ("kw 千瓦", "W", 1000), ("kwh", "kWh", 1),
        ("mm/s", "mm/s", 1), ("km/h", "km/h", 1), ("bar", "bar", 1), ("ppm", "ppm", 1), ("ppb", "ppb", 1),
        ("nm_torque", "Nm", 1)):
    for _name in _names.split():
        _WORDS[_name] = (_base, _factor)
        if _name.isascii() and _name.isalpha() and len(_name) > 2:
            _WORDS[_name + "s"] = (_base, _factor)
_WORDS |= {"per cent": ("%", 1.0), "degrees celsius": ("°C", 1.0), "degrees": ("°C", 1.0), "hrs": ("minute", 60.0)}
for _span in ("minute", "hour", "day", "week", "month", "year"):
    for _name in (f"working {_span}", f"business {_span}", f"office {_span}"):
        _WORDS[_name] = _WORDS[_name + "s"] = (f"working {_span}", 1.0)
_WORDS |= {"工作日": ("working day", 1.0), "个工作日": ("working day", 1.0)}
_WORDS["Nm"] = ("Nm", 1.0)  # newton metre; "nm" is a nanometre
del _WORDS["nm_torque"]

# Signs and single letters that stand before a number.
PREFIX = r"US\$|[€$£¥￥]|\b(?:EUR|USD|GBP|CNY|RMB)(?=[^\S\n]?\d)"
_BY_LENGTH = sorted(_WORDS, key=len, reverse=True)
_ADJECTIVES = r"(?:(?:calendar|full|extra|more|further|additional|consecutive|whole|paid|free)[^\S\n])?"
_LATIN = "|".join(re.escape(name).replace(r"\ ", r"[^\S\n]") for name in _BY_LENGTH if name[0] < "\u2e80")
_HAN = "|".join(re.escape(name) for name in _BY_LENGTH if name[0] >= "\u2e80")
# What follows a number: "-month", " working days", "%", "元". Letters may not go on after a Latin unit.
_AFTER = re.compile(rf"[^\S\n]{{0,2}}-?{_ADJECTIVES}(?P<latin>{_LATIN})(?![^\W_\u3400-\u9fff])"
                    rf"|[^\S\n]{{0,2}}(?P<han>{_HAN})",
                   re.IGNORECASE)


def unit_after(text: str, position: int) -> tuple[str, int] | None:
    """The unit that follows a number which ends at ``position``, and where it ends; None when there is none."""
    match = _AFTER.match(text, position)
    if not match:
        return None
    name = match["latin"] or match["han"]
    if len(name) == 1 and name.isalpha() and name.isascii() and name not in "smhglAVW":
        return None  # "5 a month" is no current; letters alone are units only in their own case
    return name, match.end()


def units_in(text: str) -> set[tuple[str, float]]:
    """The units that stand in a text without a number, as in the header of a table: "Notice (days)"."""
    return {_WORDS[word] for word in re.findall(r"[^\W\d_]{3,}|[%€$£]", text.casefold()) if word in _WORDS}


def base_unit(name: str) -> tuple[str, float]:
    """("minute", 1440) for "days"; KeyError for what is no unit."""
    name = re.sub(r"\s", " ", name)
    return _WORDS["Nm"] if name == "Nm" else _WORDS[name.replace("￥", "¥").casefold()]
