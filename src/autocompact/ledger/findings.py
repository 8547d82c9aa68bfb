"""Findings: the agent's own words that a reader needs to go on.

Why something is so, what was decided and on what grounds, what was tried and failed, what was verified: an agent says it
in plain sentences, and nobody can say it better afterwards. So the account of a conversation is a choice among these
sentences. What makes one worth its tokens: it gives a cause, a result, a contrast or a decision; it names things; it closes
a turn; it is recent; and nothing later says the same. Announcements ("Let me check ...") say nothing that lasts.

The words that mark a cause, a result and so on are listed for the languages of `autocompact.core.language`, and for Turkish.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter as Counted
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import filled
from autocompact.core.redaction import Redacted
from autocompact.core.terms import terms
from autocompact.ledger.clipping import clipped
from autocompact.ledger.commands import is_check
from autocompact.ledger.entries import Entry
from autocompact.ledger.passages import LONGEST, LONGEST_ABOUT, Passage, passages, prose, sentences
from autocompact.ledger.sightings import Spoken, Voice

_CUES: tuple[LazyPattern, ...] = tuple(
    LazyPattern(pattern, re.IGNORECASE)
    for pattern in (
        # cause and reason
        r"\b(?:because|since|due to|caused by|root cause|the (?:real |actual |underlying )?(?:cause|reason|issue|problem|bug|culprit)"
        r"|why\b|so that|therefore|hence|that's how|which means|this means|as a result|comes? from|weil|wegen|denn|deshalb|Ursache|Grund"
        r"|parce que|à cause|car\b|la cause|la raison|porque|debido|la causa|el motivo|perché|motivo|a causa|поэтому|потому|причин|çünkü|neden[ıi]|sebebi|yüzünden|dolay[ıi]|böylece)"
        r"|因为|原因|所以|由于|ため|原因|ので|理由|때문|원인",
        # decision and approach
        r"\b(?:decid\w+|decision|chose[n]?|opt(?:ed|ing) for|go(?:ing)? with|instead of|rather than|trade-?off|approach|strategy|recommend\w*"
        r"|the fix|fix(?:ed)? (?:is|by|was)|solution|agreed|prefer\w*|by design|intentional\w*|entschied\w+|Entscheidung|stattdessen|Lösung"
        r"|décid\w+|choisi\w*|plutôt|decid\w+|eleg\w+|en lugar|scelt\w+|invece|решил\w*|вместо|karar\w*|yerine|tercih\w*|çözüm\w*|öneri\w*)\b|决定|选择|而不是|方案|決定|代わり|方針|결정|대신",
        # what failed, what is not so
        r"\b(?:but|however|although|except|fail(?:s|ed|ing|ure)?|doesn't|don't|didn't|won't|can't|cannot|isn't|wasn't|aren't|weren't|never|no longer"
        r"|not (?:yet|the|a|because|in|on)|missing|wrong|broken|stale|unable|rejected|reverted|nicht|kein\w*|fehl\w+|aber|jedoch|schlug"
        r"|échou\w+|mais|pas\b|pero|fall[óoa]\w*|non\b|ma\b|но\b|не\b|ama\b|ancak|fakat|değil|başarısız\w*|hata\w*|eksik\w*|bozuk|reddedil\w*)|但|不是|失败|没有|しかし|失敗|ない|실패|하지만|않",
        # what was found, verified, done
        r"\b(?:found|turns out|confirm\w*|verif\w+|reproduc\w*|shows? that|means that|actually|now (?:works?|passes|returns?|uses?|shows?)"
        r"|all (?:\d+ )?tests|pass(?:es|ed|ing)?|succe\w+|created|merged|committed|pushed|removed|added|renamed|implemented|fixed|updated"
        r"|gefunden|bestätigt|bestanden|erstellt|trouvé|confirmé|créé|encontr\w+|confirmad\w+|cread\w+|trovat\w+|нашёл|подтвержд\w+|bulun\w+|doğrula\w+|geçti|geçiyor|oluşturul\w+|eklendi|düzeltil\w+|birleştir\w+|kanıtla\w+)\b"
        r"|发现|确认|通过|已经|见つ|確認|成功|찾|확인|통과",
        # what must hold, what is left
        r"\b(?:must|should|need(?:s|ed)? to|require[sd]?|only (?:if|when|the)|always|remaining|still|pending|todo|next step|left to|blocked|waiting"
        r"|open question|muss|müssen|soll\w*|noch|offen|doit|reste|encore|debe\w*|falta|todavía|deve|ancora|нужно|осталось|gerek\w*|zorunda|kalan\w*|henüz|hâlâ|bekliyor)\b|必须|需要|还|まだ|必要|아직|해야",
    )
)
_OUTLASTING = _CUES[:-1]
"""Cues of what holds after the moment. What is left is none: "still running" and "waiting" are over with the next call."""

_CONCRETE = LazyPattern(r"`[^`]+`|\b\w+[._/]\w+|\b[a-z]+[A-Z]\w*|\b\w*\d\w*|[\"“«][^\"”»]{3,60}[\"”»]")
_ANNOUNCES = LazyPattern(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|right|alright|sure|now|next|first|then|so|also|and|finally|interesting|hmm)[,!. —]+)*"
    r"(?:let me|let's|i'll|i will|i'm going to|i am going to|time to|going to|now to|moving on)\b"
    r"|^(?:looking at|(?:now|next) (?:update|add|fix|run|check|for|the|i)\b)"
    r"|^(?:(?:gut|okay|so|jetzt|nun|dann|als nächstes|zuerst)[,.:]? )*(?:lass(?:t|en sie)? mich|ich werde|ich schaue|(?:jetzt|nun|als nächstes|zuerst) (?:\w+e|werde) ich)\b"
    r"|^(?:(?:bien|maintenant|ensuite|d'abord|alors)[,.:]? )*(?:je vais|laisse[zr]?-moi)\b|^(?:(?:bien|ahora|luego|primero)[,.:]? )*(?:voy a|vamos a|déjame|permíteme)\b"
    r"|^(?:(?:agora|primeiro|bem)[,.:]? )*(?:vou|vamos|deixe-me)\b|^(?:(?:ora|adesso|prima|bene)[,.:]? )*(?:lasciami|vado a|procedo a|ora \w+o)\b"
    r"|^(?:(?:теперь|сейчас|сначала|итак)[,.:]? )*(?:давай(?:те)?|я (?:проверю|посмотрю|буду|сделаю)|проверю|посмотрю)\b"
    r"|^(?:现在|首先|接下来|然后|好的?)?[，,：]?(?:我来|让我|我将|我会|我先|接下来)|^(?:では|まず|次に|これから)|^(?:이제|먼저|다음으로)|^.{2,200}(?:겠습니다|할게요)[.]?$",
    re.IGNORECASE,
)
_CONSIDERS = LazyPattern(
    r"(?:(?:ok(?:ay)?|good|great|perfect|right|sure|now|next|first|then|so|also|and|finally|hmm)[,!. —]+)*"
    r"(?:(?:i|we) (?:need to|should|want to|could|can (?!(?:now )?(?:see|confirm|reproduce)\b))|the user (?:wants|is asking|asked|has|said)\b)",
    re.IGNORECASE,
)
"""What the agent says that it ought to do: what is to be looked at is over soon, what is to be done may be left."""

_UNDERWAY = LazyPattern(
    r"(?:(?:ok(?:ay)?|now|next|so|and|good|understood)[,.: —-]+)*(?:(?:i'm|i am|we're) (?:now |still |just |also )?(?!(?:not|leaving|treating|assuming|keeping|going)\b)\w+ing\b|(?:still|continuing|waiting|checking|running|reading|fetching|looking at)\b)"
    r"|^ich (?:prüfe|lese|suche|starte|warte|schaue)\b|^je (?:vérifie|lance|regarde|lis|cherche|commence|attends)\b|^estoy \w+ndo\b|^estou \w+ndo\b|^sto \w+ndo\b"
    r"|^(?:проверяю|запускаю|читаю|смотрю|жду)\b|^我?正在|^.{0,200}(?:確認|実行|調査)(?:中です|しています)。?$|^.{2,200} 중입니다[.]?$",
    re.IGNORECASE,
)
"""What the agent says of the moment: it is over with the next call."""

_LOOKS = LazyPattern(
    r"\b(?:check|look|see|read|find|search|view|examine|verify|start|continue|explore|try|run|inspect|investigate|take a look|understand|think|get|list|begin|open|grep|fetch|prüfe|suche|lese)\b",
    re.IGNORECASE,
)
_REASON = LazyPattern(
    r"\b(?:because|since|so that|therefore|due to|instead of|rather than|but|not|without|weil|damit|denn|statt|aber|nicht|ohne|parce que|car|pour que|plutôt|mais|sans"
    r"|porque|para que|en lugar|pero|sin|em vez|mas|sem|perché|poiché|invece|ma|senza|потому|чтобы|вместо|но|без)\b|n't\b|因为|以便|而不是|但|ため|ので|代わり|때문|위해|대신",
    re.IGNORECASE,
)
"""What makes an intention worth keeping: why, or why not otherwise."""

_BEHIND_A_DASH = LazyPattern(r"\s[—–-]\s+(?:[^\W\d_]\S*\s+){4}\S")
"""Some words behind a dash say why something is done: "let me take two - the others are part of the first"."""

_AFTER_COLON = LazyPattern(r"[:：]\s+(?:\S+\s+){2}\S|[:：]\s*[\u3040-\u30ff\u4e00-\u9fff]{4}")
_RESULT = LazyPattern(
    r"\b(?:gives|gave|shows|showed|returns|returned|fails|failed|drops|dropped|prints|printed|yields|yielded|raises|raised|throws|threw"
    r"|crashes|crashed|hangs|leaks|leaked|breaks|broke|reveals|revealed|produces|produced|loses|lost|ignores|ignored|overwrites|exits|exited"
    r"|ergibt|zeigt|liefert|scheitert|verliert|wirft|donne|montre|renvoie|échoue|perd|devuelve|muestra|falla|pierde|retorna|mostra|falha|perde"
    r"|restituisce|fallisce|показывает|возвращает|падает|теряет|выдаёт)\b|返回|显示|报错|丢失|返します|返しました|失敗し|示して|반환|실패|나타",
    re.IGNORECASE,
)
"""What came of it, in a verb; also what several words after a colon tell."""

_GUESSES = LazyPattern(
    r"\b(?:maybe|perhaps|probably|might be|may be|could be|must be either|it seems|seems to be|suggests|presumably|i suspect|i wonder|(?:but )?wait|hmm+"
    r"|vielleicht|vermutlich|wahrscheinlich|könnte|scheint|moment mal|peut-être|sans doute|probablement|semble|quizás?|tal vez|probablemente|parece|talvez|provavelmente|forse|probabilmente|sembra|возможно|наверное|кажется)\b"
    r"|也许|可能|大概|似乎|かもしれ|おそらく|たぶん|아마|것 같",
    re.IGNORECASE,
)
"""A guess: what comes of it is worth more."""

_OPENING = 120
_EMPTY = LazyPattern(r"[^\w]*$")
_MOST = 3_000
"""Passages that are compared; of more the oldest are left out before the choice."""

VOICES: Mapping[Voice, float] = {
    "closing": 1.5, "assistant": 1.0, "reasoning": 0.62, "report": 0.55, "ticket": 0.55, "closed": 0.15,
}  # fmt: skip
"""What words count by where they stand (`Voice`)."""


_ANSWERS = 0.5
"""What a passage that answers, or takes up the words of the request, is worth beyond another, as a share."""

_ANSWER = LazyPattern(
    r"(?:yes|no|correct|exactly|right|not (?:quite|exactly|really|yet|necessarily)|you're right|good (?:point|question|catch)"
    r"|ja|nein|doch|genau|richtig|oui|non|exact(?:ement)?|sí|correcto|exacto|sì|esatto|sim|não|да|нет|верно)\s*[,.!:;—–-]|是的|不是|没错|对[，。！]|はい|いいえ|네[,.]|아니",
    re.IGNORECASE,
)

_ASKED, _QUESTION = 600, 40
"""Characters of a request that are looked at, and words of one that asks for something; a longer one is a text."""

SAID_BEFORE = 0.1
"""Share of its worth that a passage keeps of which everything was said before."""


class _Candidate(Struct):
    passage: Passage
    seq: int
    order: int
    score: float
    terms: frozenset[str]


def find_findings(spoken: Sequence[Spoken], *, asked: Sequence[str] = (), most: int = 400) -> list[Entry]:
    """The passages that say most, with ``need`` as their worth; the one that comes first in need is the best.

    A passage loses worth by what better or later ones already say, so a choice in order of need has little repetition.

    Args:
        spoken: the agent's words.
        asked: the requests, one for each turn: what answers one in its words is worth more.
        most: findings at most.
    """
    candidates = _candidates(spoken, _MOST, asked=asked)
    seen = Counted(term for candidate in candidates for term in candidate.terms)
    rare = {term: 1 / (1 + math.log(count)) for term, count in seen.items()}
    chosen = _without_repetition(candidates, rare, most=most)
    return [
        Entry(
            kind="finding",
            text=Redacted(candidate.passage.told),  # a piece of redacted words
            seq=candidate.seq,
            key=filled("finding {}", Redacted(candidate.passage.text[:80])),
            state_seq=candidate.order,
            need=round(min(1.0, worth), 4),
            where=Redacted(candidate.passage.about),
        )
        for candidate, worth in chosen
    ]


def ranked_anew(
    findings: Sequence[Entry], left: Sequence[Entry], *, known: Mapping[str, float]
) -> dict[str, float]:
    """By key, what those of ``left`` are worth where only a part of all ``findings`` is to be told.

    The ``need`` of a finding is discounted by what better ones say, which helps nobody where those are not told: so that
    discount is taken back, and made anew among what is left.

    Args:
        findings: all of a ledger's.
        left: those of them that are to be told, their text maybe shorter.
        known: by key, how much of it a reader knows from elsewhere, 0.0 to 1.0.
    """
    worth = _undiscounted(findings)
    candidates = [
        _Candidate(
            passage=Passage(text=entry.text, about=""),
            seq=entry.seq,
            order=order,
            score=worth[entry.key] * (1.0 - known.get(entry.key, 0.0)),
            terms=frozenset(terms(entry.text)),
        )
        for order, entry in enumerate(left)
    ]
    seen = Counted(term for candidate in candidates for term in candidate.terms)
    rare = {term: 1 / (1 + math.log(count)) for term, count in seen.items()}
    chosen = _without_repetition(candidates, rare, most=len(candidates))
    # `_without_repetition` gives a quarter, to fit into a `need` of 0 to 1
    return {left[candidate.order].key: 4 * worth for candidate, worth in chosen}


def _undiscounted(findings: Sequence[Entry]) -> dict[str, float]:
    """By key, the ``need`` of each without the discount for what those before it in order of need have said."""
    said = {entry.key: frozenset(terms(entry.text)) for entry in findings}
    seen = Counted(term for found in said.values() for term in found)
    rare = {term: 1 / (1 + math.log(count)) for term, count in seen.items()}
    told: set[str] = set()
    worth: dict[str, float] = {}
    for entry in sorted(findings, key=lambda entry: -entry.need):
        found = said[entry.key]
        whole = math.fsum(rare[term] for term in found) or 1.0
        new = math.fsum(rare[term] for term in found - told)
        worth[entry.key] = entry.need / (SAID_BEFORE + (1 - SAID_BEFORE) * new / whole)
        told |= found
    return worth


def _candidates(spoken: Sequence[Spoken], most: int, *, asked: Sequence[str]) -> list[_Candidate]:
    """The latest passages that could be told, in order; what is older than ``most`` is not even scored."""
    total = sum(len(words.text) for words in spoken) or 1
    last_turn = spoken[-1].turn if spoken else 0
    so_far, order = total, 0
    latest_first: list[_Candidate] = []
    for words in reversed(spoken):
        # half of what fades does so by text, half by requests: a turn may be one word or a whole day
        recency = 0.2 + 0.4 * math.exp(-4 * (1 - so_far / total)) + 0.4 * 0.75 ** (last_turn - words.turn)
        so_far -= len(words.text)
        question = _question(words, asked)
        for kept in filter(None, map(_lasting, reversed([*passages(words.text)]))):
            order -= 1
            found = frozenset(terms(kept.text))
            if len(found) >= 3:
                answers = 1 + _ANSWERS * _answers(kept.told, found, question=question)
                worth = VOICES[words.voice] * recency * _weight(kept) * answers
                latest_first.append(_Candidate(_named(kept, words), words.seq, order, worth, found))
        if len(latest_first) >= most:
            break
    for candidate in latest_first:
        # counted down from the end, since only the latest are read: now from 1 upwards
        candidate.order += 1 - order
    return latest_first[:most][::-1]


def _named(passage: Passage, words: Spoken) -> Passage:
    """The passage, of a ticket with its name before what it is about: what is asked for is not done by that."""
    about = ", ".join(filter(None, (words.of, passage.about)))
    return replace(passage, about=clipped(about, LONGEST_ABOUT)) if words.of else passage


def _question(words: Spoken, asked: Sequence[str]) -> frozenset[str]:
    """The words of the request that these close; none of a text, which asks for nothing by most of its words."""
    if words.voice != "closing" or not 0 < words.turn <= len(asked):
        return frozenset()
    found = frozenset(terms(asked[words.turn - 1][:_ASKED]))
    return found if len(found) <= _QUESTION else frozenset()


def _answers(told: str, found: frozenset[str], *, question: frozenset[str]) -> float:
    """How much a passage looks like the answer, 0.0 to 1.0: half of the words of the question are as good as all."""
    if not question:
        return 0.0
    return 1.0 if _ANSWER.begins(told) else min(1.0, 2 * len(question & found) / len(question))


def announces(sentence: str) -> bool:
    """True if ``sentence`` only says what its speaker is about to do."""
    return _ANNOUNCES.begins(sentence)


def _lasting(passage: Passage) -> Passage | None:
    """The passage without sentences that only announce what comes next; None if nothing is left."""
    kept = [sentence for sentence in sentences(passage.text) if not only_intends(sentence)]
    text = clipped(" ".join(kept), 2 * LONGEST)
    if _EMPTY.begins(text) or len(text) < (18 if text.isascii() else 8):
        return None
    about = passage.about if len(passage.about) < LONGEST_ABOUT else ""
    if not about or not only_intends(about):
        return Passage(text=text, about=about)
    # below "Checking the results:" stand results, below "I'll change two things:" what is intended too
    looks = _UNDERWAY.begins(about) or _LOOKS.found_in(about)
    return Passage(text=text, about="") if looks else None


def _tells_a_result(sentence: str) -> bool:
    return _RESULT.found_in(sentence) or any(cue.found_in(sentence) for cue in _OUTLASTING)


def only_intends(sentence: str) -> bool:
    """True if it says what the agent is about to do or at the moment does, and gives no reason or result that outlasts it."""
    if not (_ANNOUNCES.begins(sentence) or _UNDERWAY.begins(sentence)):
        return _CONSIDERS.begins(sentence) and _LOOKS.found_in(sentence[:90])
    if _AFTER_COLON.found_in(sentence) or (not _PROMISE.match(sentence) and _tells_a_result(sentence)):
        return False
    gives_a_reason = _REASON.found_in(sentence) or _BEHIND_A_DASH.search(sentence) is not None
    return _LOOKS.found_in(sentence[:90]) or not gives_a_reason


def cues(text: str) -> int:
    """How many kinds of things worth telling the words speak of: a cause, a decision, a failure, a result, what must hold.

    Kinds, not cues: ten causes in one sentence are one reason to keep it.
    """
    return sum(cue.found_in(text) for cue in _CUES)


def _weight(passage: Passage) -> float:
    """What a passage is worth by its own words: about 0.2 to 3."""
    text = passage.told
    concrete = sum(1 for _ in islice(_CONCRETE.finditer(text), 4))
    weight = 0.5 + 0.4 * min(cues(text), 4) + 0.12 * concrete
    if any(pattern.begins(passage.text) for pattern in (_ANNOUNCES, _UNDERWAY, _CONSIDERS)):
        weight *= 0.5
    if _GUESSES.found_in(passage.text[:_OPENING]):
        weight *= 0.6
    return weight * (1.0 if len(text) > (50 if text.isascii() else 18) else 0.6)


def _without_repetition(
    candidates: Sequence[_Candidate], rare: dict[str, float], *, most: int
) -> list[tuple[_Candidate, float]]:
    """Greedy by worth per size, each passage discounted by how much of it was said: lazily, so it is near-linear."""
    told: set[str] = set()
    # a set has another order in each process: `fsum` rounds once, so that the sum is the same in any order
    wholes = [math.fsum(rare[term] for term in candidate.terms) for candidate in candidates]

    def worth(index: int) -> float:
        candidate, whole = candidates[index], wholes[index]
        new = math.fsum([rare[term] for term in candidate.terms if term not in told])
        return candidate.score * (SAID_BEFORE + (1 - SAID_BEFORE) * new / (whole or 1.0))

    heap = [(-worth(index), -index) for index in range(len(candidates))]
    heapq.heapify(heap)
    chosen: list[tuple[_Candidate, float]] = []
    while heap and len(chosen) < most:
        _, negative = heapq.heappop(heap)
        now = worth(-negative)
        # worth only falls as more is told, so who is still ahead of all others' older worth is the best
        if heap and now < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-now, negative))
            continue
        candidate = candidates[-negative]
        chosen.append((candidate, now / 4))
        told |= candidate.terms
    return chosen


_PROMISE = LazyPattern(
    r"(?:^(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|so|also|and)[,!. —-]+)*)?(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i want to|we need to)\s+(?:(?:also|now|just|then)\s+)*",
    re.IGNORECASE,
)
"""What is left out of an intent. Words before it only at the beginning: else each of a row of them would begin a match."""

_INTENT = 220
"""Characters of an intent at most."""


_LEFT_ALONE = LazyPattern(
    r"\b(?:already (?:\w+ly )?\w+|skip(?:ped|ping)|(?:left|leave|stays?) (?:as is|unchanged|alone))\b",
    re.IGNORECASE,
)
"""Of what needs no edit."""

_IN_CODE = LazyPattern(r"`([^`\n]{3,200})`")


def _tells_of_a_check(sentence: str) -> bool:
    """True if a sentence says how a command went ("`make test` timed out"), or what an editor marks: no word on an edit."""
    ran = (code for code in _IN_CODE.findall(sentence) if " " in code)
    return "diagnostics" in sentence or _LEFT_ALONE.found_in(sentence) or any(map(is_check, ran))


def intents(spoken: Iterable[Spoken]) -> dict[int, str]:
    """By message, the agent's last sentence in it that names what it is about to do, as an order: "add X to Y"."""
    found: dict[int, str] = {}
    for words in spoken:
        if not words.is_own:
            continue
        for sentence in reversed([*prose(words.text)]):
            announces = _ANNOUNCES.begins(sentence) or _CONSIDERS.begins(sentence)
            if (announces and _LOOKS.found_in(sentence[:90])) or _tells_of_a_check(sentence):
                continue
            intent = _PROMISE.sub("", sentence, count=1).rstrip(": ")
            if len(intent) > 24 and _CONCRETE.search(intent):
                found[words.seq] = clipped(intent, _INTENT)
                break
    return found
