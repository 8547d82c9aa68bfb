"""What the sentences of rules say beside being some: what takes one back, which value one gives, what is only quoted.

`autocompact.ledger.rules` knows which sentences are rules. Here is what it asks about them: the order that a polite question
means, whether a later word allows what was forbidden, whether two rules give a value to the same thing, and which words of a
message are somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from autocompact.core.patterns import LazyPattern

_LEAD = r"(?:(?:ok(?:ay)?|actually|well|hm+|please|pls|and|also|then|so|but|oh|hey|hi|btw|by the way|fyi|note(?: that)?|context|remember(?: that)?|important)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*"

_MONTHS = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"


_TONGUE = r"(?:english|german|french|spanish|portuguese|italian|chinese|japanese|korean|russian|dutch|polish|englisch|deutsch|französisch|spanisch|anglais|allemand|français|espagnol|inglés|alemán|francés|español)"


_POLITE = LazyPattern(
    r"(?:(?:ok(?:ay)?|please|pls|and|also|so|but|oh|hey|hi|btw|by the way)\b[,:!. —]*)*"
    r"(?:(?:can|could|would|will) you (?:please |pls |maybe |kindly )*|would you mind |it (?:would|'d) be (?:really |super )?(?:great|nice|good|helpful|cool|lovely) if you (?:could |would )?(?:please )?|(?:i'd|i would) (?:like|love|prefer|want) (?:it if )?you (?:to |could )?|i(?:'d)? (?:need|want) you to |let'?s agree (?:that )?(?=you))"
    r"|(?:kannst|könntest|würdest|willst|könnten) (?:du|sie) (?:bitte |mal )*|es wäre (?:schön|gut|super|nett|toll|klasse), wenn du (?:mir )?|ich (?:möchte|will|hätte gerne?),? dass du "
    r"|(?:tu peux|peux-tu|pourrais-tu|tu pourrais|est-ce que tu peux|pouvez-vous|pourriez-vous) |¿?(?:puedes|podrías|puede|podría) (?:por favor )?|(?:d[áa] p(?:a|á)?ra|você pode|pode|poderia|consegue) |(?:puoi|potresti|ti dispiace) |(?:можешь|не мог(?:ла)? бы ты) "
    r"|(?:能不能|可不可以|可以|能否)(?=不要|别|不|只|一直|都)",
    re.IGNORECASE,
)
"""What makes a question or a wish of an order."""

_TAG_QUESTION = LazyPattern(
    r"(?:,? (?:ok(?:ay)?|right|alright|yeah|ja|oder|gut|d'accord|vale|sí|va bene|хорошо))\s*[?？]+\s*$",
    re.IGNORECASE,
)

_TOLD = LazyPattern(
    # English
    r"^(?:it|this|that|these|those|there|he|she|they|what|why|how|when|where|who|is|are|was|were|did|does)\b|\b(?:yesterday|last (?:week|month|year|time|night)|used to|ago|anymore it|was|were|had|failed|broke|crashed|happened|tried|got an?|getting|thought|wondered)\b"
    # abroad
    r"|\b(?:war|waren|hatte|hatten|wollte|wurde|wurden|schlägt|schlagen|abgestürzt|gestern|früher|était|étais|étaient|avait|avais|voulait|voulais|échoue|échouent|plante|hier (?:soir|matin)|appelée?|falla|fallan|era|eran|estaba|quería|ayer|se llama|falha|queria|estava|ontem|fallisce|voleva|ieri|пада\w+|хотел\w*|был\w*|вызывается|вчера|stürzt|stürzen|kommt\b[^.!?]*\ban|sagte|meinte|disait|arrivent?|depuis (?:la mise|le passage|que)|decía|llegan?|desde (?:la|el|que)|dizia|diceva|говорил\w*)\b|\b(?:ma|mon|mi|meine?|mein|mia|mio|my) (?:\w+ )?(?:voisine?|mère|père|sœur|frère|tía|tío|madre|padre|hermana|abuela|nachbar\w*|mutter|vater|schwester|bruder|oma|opa|mother|father|sister|brother|neighbou?r)\b|止ま|できなかった|できたことが|崩溃|总是说|出错|落ち|起き|失败|报错|被调用|以前|昨天|ました|でした|失敗し|呼ばれ|ていた|昨日",
    re.IGNORECASE,
)
"""Words of what happened, or is the case once."""


_TAKEN_BACK = LazyPattern(
    r"\b(?:forget (?:what i said|the (?:thing|rule|bit|part)|that) about|(?:i've |i have |i )?changed my mind (?:about|on)|(?:scratch|scrap) what i said about|vergiss (?:das mit|was ich (?:über|zu)\b[^,.]{0,20}?(?=de[nmr]|die|das)|die|das)|olvida lo de(?:l)?|oublie (?:ce que j'ai dit (?:sur|à propos de)|le|la|les)|esquece (?:o que eu disse sobre|o|a)|dimentica (?:quello che ho detto su|il|la|i|gli)|забудь (?:про|о|об))\s+([^,.;!?\n]{2,60})"
    r"|(?:之前|刚才)说的([^，。！？]{1,20})作废",
    re.IGNORECASE,
)
_INSTEAD = LazyPattern(
    r"\b(?:instead of|rather than|in place of|switched from|moved from|statt|anstelle von|au lieu de|plutôt que|en vez de|en lugar de|em vez de|invece di|вместо)\s+([\w.+#/-]{2,30})"
    r"|而不是([^，。！？]{1,12})",
    re.IGNORECASE,
)
_NONE_OF = LazyPattern(
    r"\b(?:no|never|without|don't|dont|not|keine?[nrms]?|nie|niemals|ohne|pas|aucune?|sans|jamais|sin|nada de|nunca|sem|niente|senza|без|никаких)\b|不|别|ない|禁止",
    re.IGNORECASE,
)
_FINE = LazyPattern(
    r"\bc'est (?:ok|bon|permis)\b[.!]*$|\b(?:está|están) bien\b[.!]*$|\b(?:is|are) (?:totally |perfectly |absolutely |actually )?(?:fine|ok|okay|good|allowed|welcome) (?:after all|now|too|again|as long as|if|with me|from now)\b|\bactually\b[^.!?]{1,40}\b(?:is|are) (?:fine|ok|okay|good)\b|\bafter all\b[.!]*$|\bi(?:'ve| have)? changed my mind (?:about|on)\b"
    r"|\b(?:ist|sind) (?:jetzt |nun )?(?:doch )(?:ok|okay|erlaubt|gut|in ordnung)\b|\b(?:darfst|kannst) du (?:jetzt |nun )?(?:doch |wieder |ab jetzt )|\bdoch (?:wieder )?(?:ok|okay|erlaubt|gern)\b|\bc'est bon(?: finalement)?\b|\bfinalement\b[^.!?]{0,20}\b(?:ok|bon|d'accord)\b|\b(?:está|están) (?:bien|permitid\w+) (?:ahora|después de todo|al final)\b|\bal final sí\b"
    r"|(?:现在|以后)?可以[^。！？]{1,12}了|没关系了|作废|(?:もう|やっぱり)[^。！？]{1,16}(?:ていい|てもいい|てよい|大丈夫)",
    re.IGNORECASE,
)
_NAME = LazyPattern(
    r"\b(?:call me (?!when|if|before|after|once|whenever|first|back|at|on|in|later|out|for|about|to)\b|address me as|nenn(?:e|en sie)? mich|appelle[zr]?-moi|ll[aá]mame|chiamami|me chama de|me chame de|зови меня)\b|叫我|呼んで",
    re.IGNORECASE,
)
_SOME_CASES = LazyPattern(
    r"\b(?:if|when|where|unless|for|to (?!me\b|english\b|german\b|french\b|spanish\b|chinese\b|japanese\b|\w+day\b)\w+|customers?|clients?|users?|each|every|wenn|falls|für|kunden|si|quand|pour|aux|cuando|para|clientes|se|quando|per|если|для)\b|如果|客户|場合|お客",
    re.IGNORECASE,
)
_EVENT = LazyPattern(
    rf"{_LEAD}(?:(?:the|our|my|this|that|die|der|das|unsere?|la|le|l'|notre|el|nuestra|o|a|il) ?)?(?:\w+ )?(?P<event>demo|release|freeze|launch|deadline|presentation|go-?live|exam|handover|delivery|vorführung|abgabe|präsentation|termin|démo|livraison|réunion|présentation|entrega|reunión|presentación|consegna|riunione|демо|релиз)\b[^.!?]{{0,40}}?\b(?:{_DAYS}|{_MONTHS} \d|tomorrow|\d{{1,2}}[:.]\d\d|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lunedì|martedì|mercoledì|giovedì|venerdì|понедельник|вторник|сред[уа]|четверг|пятниц[уа])",
    re.IGNORECASE,
)
_WRITTEN_IN = LazyPattern(
    rf"\b(?P<what>commit messages?|comments?|docs|documentation|docstrings?|variable names?|kommentare?|commits?)\b[^.!?]{{0,25}}\b(?:in|auf|en|em) {_TONGUE}\b",
    re.IGNORECASE,
)
_ANSWERS_IN = LazyPattern(
    rf"\b(?:back|switch|zurück|wieder) (?:to|zu|auf) {_TONGUE}\b|\b(?:in|auf|en|em) {_TONGUE}\b[^.!?]{{0,20}}\b(?:antwort|reply|answer|respond)\w*|\b(?:antwort|answer|reply|respond|répond|respond|contest)\w*\b[^.!?]{{0,30}}\b(?:in|auf|en|em) {_TONGUE}\b",
    re.IGNORECASE,
)

FUNCTION = re.compile(
    r"絶対に|不要|不准|不许|请|現在|现在|以后|可以|不用|别|所有|一律|总是|永远|必须|了|吧|都|しないで(?:ください)?|ないで(?:ください)?|してください|てください|ください|もう|やっぱり|して(?:も)?いい(?:です)?(?:よ)?|ても?いい(?:です)?(?:よ)?|です|ます|は|を|に|も|よ"
)
"""Words of Chinese and Japanese that say how something is meant, and not what."""


_SPLIT = re.compile(r"(?<=[a-zà-ž0-9)\"'`%\]][!?.])\s+(?=[a-zà-žа-я])|(?<=[?!])\s+(?=[a-zà-žа-я0-9])")
_ENDS_WITHIN = re.compile(r"[!?.][)\"'\]]?\s")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|z\.b|d\.h|bzw|ca|p\.ex)\.|\.\.)$", re.IGNORECASE
)

_HANDED_OVER = LazyPattern(
    r"\b(?:translat\w+|proof-?read|correct (?:this|the following)|rephrase|reword|make this|this sentence|(?:what|was|que)\b[^.!?]{0,60}\b(?:means?|heißt|bedeutet|signifie|significa)|rewrite (?:this|the following)|übersetz\w*|korrigier\w*|tradui\w*|traduc\w*|corrige (?:este|esta|ce|cette)|traduz\w*|traduci\w*|переведи\w*|(?:told|tells) me|(?:wrote|said|says|schrieb|sagt|a écrit|dit|escribió|dice)(?= ?[:：]? ?[\"'“«„])|error(?: message)?s?|fehler\w*|erreurs?|the (?:docs?|documentation|manual|e?mail|message|readme) says?|(?:i )?got (?:an|this) e?mail|in der doku|la documentaci[oó]n dice|la doc(?:umentation)? dit)\b|用英语|英語で|翻译|报错|错误|エラー|訳し|英訳|和訳",
    re.IGNORECASE,
)
_QUOTE = re.compile(
    r"'[^'\n]{8,600}'(?!\w)|\"[^\"\n]{8,600}\"|“[^”\n]{4,600}”|«[^»\n]{4,600}»|„[^“”\n]{4,600}[“”]|「[^」\n]{4,600}」|『[^』\n]{4,600}』"
)


# Most sentences allow nothing. One look at their words tells whether the dear pattern can match.

_WORDS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ASCII_WORDS = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_FUNCTION_WORDS = frozenset(
    "the of and is it my you with for that this was to are in but so a me i if please".split()
)
_FINE_CUES = frozenset("fine ok okay good allowed welcome all mind actually".split())


@lru_cache(maxsize=256)
def _words(sentence: str) -> frozenset[str]:
    pattern = _ASCII_WORDS if sentence.isascii() else _WORDS  # the same, in half the time
    return frozenset(pattern.findall(sentence.lower()))


def _is_english(words: frozenset[str]) -> bool:
    return len(words & _FUNCTION_WORDS) > 2


def outright(sentence: str) -> str:
    """What a polite question or wish asks for, as an order; the sentence itself where it is none.

    A question that is none of these keeps its mark.
    """
    if sentence.endswith(("?", "？")) and (tag := _TAG_QUESTION.search(sentence)) is not None:
        return sentence[: tag.start()]
    polite = _POLITE.match(sentence) if _POLITE.begins(sentence) else None
    return sentence[polite.end() :].rstrip(" ?？") if polite else sentence


def allows_again(sentence: str) -> bool:
    """True if the sentence says that something is fine after all: it ends what forbids that, and nothing else."""
    if sentence.isascii() and (words := _words(sentence)).isdisjoint(_FINE_CUES) and _is_english(words):
        return False
    return _FINE.found_in(sentence)


def forbids(rule: str) -> bool:
    """True if the rule says that there is to be none of something: "no emojis pls"."""
    return _NONE_OF.found_in(rule)


def slot(rule: str) -> str:
    """What a rule gives a value to, so that another value takes its place: the user's name, the day of the demo; "" for none.

    A prohibition gives none, nor does what holds for some cases ("reply to customers in French").
    """
    if _NONE_OF.found_in(rule) or _SOME_CASES.found_in(rule):
        return ""
    if _NAME.found_in(rule):
        return "name"
    if (event := _EVENT.match(rule)) is not None:
        return f"when {event['event'].lower()}"
    if (written := _WRITTEN_IN.search(rule)) is not None:
        return f"language of {written['what'].lower().rstrip('s')}"
    return "language" if _ANSWERS_IN.found_in(rule) else ""


def taken_back(sentence: str) -> str:
    """What a sentence takes back by name: "tabs" of "forget what I said about tabs"; "" if it does not say so."""
    found = _TAKEN_BACK.search(sentence)
    return next(filter(None, found.groups()), "") if found else ""


def replaced(sentence: str) -> str:
    """What something takes the place of: "npm" of "use pnpm instead of npm"; "" for nothing."""
    found = _INSTEAD.search(sentence)
    return next(filter(None, found.groups()), "") if found else ""


def clauses(sentence: str) -> Iterator[str]:
    """The sentence, cut where another begins in lower case: people write so in a chat."""
    if not _ENDS_WITHIN.search(sentence):
        yield sentence
        return
    start = 0
    for cut in _SPLIT.finditer(sentence):
        if not _ABBREVIATED.search(sentence, start, cut.start()):
            yield sentence[start : cut.start()]
            start = cut.end()
    yield sentence[start:]


def handed_over(text: str) -> tuple[str, ...]:
    """What a text quotes to have it translated, corrected or judged, each with its marks on one line: nobody's rules."""
    quotes = "'" in text or '"' in text or (not text.isascii() and any(mark in text for mark in "“«„「『"))
    if not quotes or not _HANDED_OVER.found_in(text):
        return ()
    return tuple(" ".join(found[0].replace("’", "'").split()) for found in _QUOTE.finditer(text))


def own_words(sentence: str, quotes: Iterable[str]) -> str:
    """The sentence without the ``quotes``, also where it ends or begins within one; "" if it has no other words."""
    for quote in quotes:
        if sentence.strip(_MARKS) in quote:
            return ""
        before, begins, _ = sentence.replace(quote, "…").partition(quote[: min(_KNOWN_BY, len(quote) // 2)])
        sentence = f"{before}…" if begins else before
    return sentence


_MARKS = " .!?。！？'\"“”«»„「」『』"
_KNOWN_BY = 12
"""Characters by which a quote is known that goes on in the next sentence."""


def tells_a_story(sentence: str) -> bool:
    """True if a sentence that is not English tells what happened."""
    return _TOLD.found_in(sentence)
