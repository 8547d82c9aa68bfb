"""The language of a conversation, and the few words a ledger needs in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import LiteralString

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import own, pieces
from autocompact.core.redaction import Redacted

_SCRIPTS: tuple[tuple[str, LazyPattern], ...] = (
    ("ja", LazyPattern(r"[\u3040-\u30ff]")),
    ("ko", LazyPattern(r"[\uac00-\ud7af]")),
    ("zh", LazyPattern(r"[\u4e00-\u9fff]")),
    ("ru", LazyPattern(r"[\u0400-\u04ff]")),
)
_FREQUENT: dict[str, frozenset[str]] = {
    "en": frozenset(
        [
            "the",
            "and",
            "is",
            "to",
            "of",
            "in",
            "it",
            "you",
            "that",
            "for",
            "with",
            "can",
            "we",
            "this",
            "not",
            "do",
            "be",
            "on",
            "what",
        ]
    ),
    "de": frozenset(
        [
            "der",
            "das",
            "und",
            "ist",
            "nicht",
            "ich",
            "wir",
            "ein",
            "eine",
            "zu",
            "mit",
            "den",
            "auf",
            "für",
            "bitte",
            "es",
            "auch",
            "noch",
        ]
    ),
    "fr": frozenset(
        [
            "le",
            "la",
            "les",
            "et",
            "est",
            "que",
            "pas",
            "je",
            "nous",
            "un",
            "une",
            "des",
            "pour",
            "dans",
            "avec",
            "il",
            "ce",
            "du",
            "sur",
        ]
    ),
    "es": frozenset(
        [
            "el",
            "los",
            "las",
            "que",
            "es",
            "en",
            "un",
            "una",
            "por",
            "con",
            "para",
            "se",
            "lo",
            "del",
            "al",
            "como",
            "pero",
            "y",
        ]
    ),
    "pt": frozenset(
        [
            "o",
            "os",
            "que",
            "é",
            "em",
            "um",
            "uma",
            "por",
            "com",
            "para",
            "não",
            "se",
            "da",
            "ao",
            "como",
            "mas",
            "e",
            "você",
        ]
    ),
    "it": frozenset(
        [
            "il",
            "lo",
            "gli",
            "che",
            "è",
            "un",
            "una",
            "con",
            "non",
            "si",
            "del",
            "della",
            "ma",
            "e",
            "di",
        ]
    ),
}
_OTHERS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "tr": "ve bir bu için ile da daha ne var yok değil gibi olarak çok ama şimdi mi mı şu sonra en son neden nasıl",
        "nl": "het een niet voor dat zijn ook maar wel naar moet kan nog deze werkt graag wij je",
        "pl": "nie jest się na że jak ale czy jeszcze tylko teraz proszę dodaj zrób są ten tego po",
        "cs": "není je že jak ale ještě jen teď prosím přidej jsou tento pro také když",
        "sv": "och att det som är inte på med för jag ska kan när också bara den ett vi",
        "da": "og at det som er ikke på med for jeg skal kan når også kun den et vi hvordan",
        "fi": "ja on ei että se mutta myös kun vain nyt tämä voit miten ole pitää",
        "ro": "și este nu că pentru cu din mai sunt dar acum doar fișierul trebuie în",
        "hu": "és nem hogy az van meg csak most egy kell ezt legyen vagy még mert",
        "id": "yang dan di untuk dengan ini itu tidak ada saya bisa juga tapi dari akan sudah",
        "vi": "và là không của cho này được có một những các tôi bạn làm thế nào",
    }.items()
}
"""Languages that `WORDS` has not: they are told in English, not in the one that has a few of their words."""

_DATA = LazyPattern(
    r"```.*?(?:```|\Z)|https?://\S+|^[^\n]{0,200}?[\w\"']\"?\s?[:=]\s?[\"'{\[][^\n]*$|^[ \t]*[{}\[\]\"'][^\n]*$|(?<!\S)\S{0,300}?[=&%\\]\S*",
    re.MULTILINE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000
_TEXTS, _BEGINNING = 100, 1_000
"""Texts that are looked at one by one, and characters of each."""

_KEYS = [
    "requests",
    "files",
    "commands",
    "errors",
    "todos",
    "decisions",
    "details",
    "running",
    "earlier",
    "edited",
    "created",
    "deleted",
    "read",
    "done",
    "open",
    "superseded",
    "withdrawn",
    "failed",
    "passed",
    "corrected",
    "resumed",
    "rules",
    "wishes",
    "stands",
    "account",
    "said",
    "changes",
    "before",
    "below",
    "follows",
    "then",
    "since",
    "answered",
    "tried",
    "instead",
]
_TABLE: Mapping[str, LiteralString] = {
    "en": "Requests|Files|Commands|Open errors|Plan|Decisions|Details|Still running|earlier|edited|created|deleted"
    "|read|done|open|superseded|withdrawn|failed|ok|corrected by|see"
    "|Rules in force|The user also said|Where the work stands|What was found, decided and done|What was said|Changes by file|Earlier account|Paths are below"
    "|stands below, word for word|at that time|work since|answered|What did not work|then ok",
    "de": "Anfragen|Dateien|Befehle|Offene Fehler|Plan|Entscheidungen|Einzelheiten|Läuft noch|früher|geändert"
    "|angelegt|gelöscht|gelesen|erledigt|offen|überholt|zurückgezogen|fehlgeschlagen|ok|berichtigt durch|siehe"
    "|Geltende Regeln|Außerdem sagte der Nutzer|Stand der Arbeit|Was gefunden, entschieden und getan wurde|Was gesagt wurde|Änderungen je Datei|Früherer Bericht|Pfade liegen unter"
    "|steht unten im Wortlaut|damals|Arbeit seither|beantwortet|Was nicht ging|danach ok",
    "fr": "Demandes|Fichiers|Commandes|Erreurs ouvertes|Plan|Décisions|Détails|En cours|plus tôt|modifié|créé"
    "|supprimé|lu|fait|ouvert|remplacé|retiré|échoué|ok|corrigé par|voir"
    "|Règles en vigueur|L'utilisateur a dit aussi|Où en est le travail|Ce qui a été trouvé, décidé et fait|Ce qui a été dit|Modifications par fichier|Compte rendu antérieur|Les chemins partent de"
    "|figure ci-dessous mot pour mot|à ce moment-là|travail depuis|répondu|Ce qui n'a pas marché|ensuite ok",
    "es": "Peticiones|Archivos|Comandos|Errores abiertos|Plan|Decisiones|Detalles|En marcha|antes|editado|creado"
    "|borrado|leído|hecho|abierto|sustituido|retirado|falló|ok|corregido por|ver"
    "|Reglas vigentes|El usuario dijo además|Estado del trabajo|Lo que se encontró, decidió e hizo|Lo que se dijo|Cambios por archivo|Informe anterior|Las rutas parten de"
    "|figura abajo palabra por palabra|en ese momento|trabajo desde entonces|respondida|Lo que no funcionó|después ok",
    "pt": "Pedidos|Ficheiros|Comandos|Erros em aberto|Plano|Decisões|Detalhes|Em execução|antes|editado|criado"
    "|apagado|lido|feito|aberto|substituído|retirado|falhou|ok|corrigido por|ver"
    "|Regras em vigor|O utilizador disse também|Situação do trabalho|O que foi encontrado, decidido e feito|O que foi dito|Alterações por ficheiro|Relato anterior|Os caminhos partem de"
    "|está abaixo palavra por palavra|naquele momento|trabalho desde então|respondido|O que não funcionou|depois ok",
    "it": "Richieste|File|Comandi|Errori aperti|Piano|Decisioni|Dettagli|In esecuzione|prima|modificato|creato"
    "|eliminato|letto|fatto|aperto|sostituito|ritirato|fallito|ok|corretto da|vedi"
    "|Regole in vigore|L'utente ha detto anche|A che punto è il lavoro|Ciò che è stato trovato, deciso e fatto|Ciò che è stato detto|Modifiche per file|Resoconto precedente|I percorsi partono da"
    "|è riportata sotto parola per parola|in quel momento|lavoro da allora|risposta|Ciò che non ha funzionato|poi ok",
    "zh": "请求|文件|命令|未解决的错误|计划|决定|细节|仍在运行|更早|已修改|已创建|已删除|已读|已完成|未完成|已被取代"
    "|已撤回|失败|成功|更正为|见"
    "|有效规则|用户还说过|当前进度|发现、决定与完成的内容|谈到的内容|各文件的改动|之前的摘要|路径起始于"
    "|原文见下|当时|此后的工作|已回复|行不通的做法|之后成功",
    "ja": "依頼|ファイル|コマンド|未解決のエラー|計画|決定|詳細|実行中|以前|編集|作成|削除|閲覧|完了|未完了|置換済み"
    "|取り下げ|失敗|成功|訂正|参照"
    "|有効なルール|ユーザーのその他の発言|作業の現状|判明・決定・実施したこと|話されたこと|ファイルごとの変更|以前の要約|パスの起点は"
    "|下に原文あり|当時|その後の作業|回答済み|うまくいかなかったこと|その後成功",
    "ko": "요청|파일|명령|해결되지 않은 오류|계획|결정|세부 사항|실행 중|이전|수정됨|생성됨|삭제됨|읽음|완료|미완료|대체됨"
    "|철회됨|실패|성공|정정|참조"
    "|유효한 규칙|사용자가 또 말한 것|작업 현황|발견·결정·수행한 것|나눈 이야기|파일별 변경|이전 요약|경로의 기준은"
    "|원문은 아래에 있음|당시|이후 작업|답변됨|실패한 방법|이후 성공",
    "ru": "Запросы|Файлы|Команды|Открытые ошибки|План|Решения|Подробности|Ещё выполняется|ранее|изменён|создан"
    "|удалён|прочитан|готово|открыто|заменено|отозвано|ошибка|ok|исправлено|см."
    "|Действующие правила|Пользователь также сказал|Где остановилась работа|Что найдено, решено и сделано|Что было сказано|Изменения по файлам|Прежняя сводка|Пути отсчитываются от"
    "|приведён ниже дословно|на тот момент|сделано с тех пор|отвечено|Что не сработало|затем ok",
}
WORDS: Mapping[str, Mapping[str, Redacted]] = {
    language: dict(zip(_KEYS, pieces(own(row), lambda row: row.split("|")), strict=True))
    for language, row in _TABLE.items()
}


def _often_in(script: LazyPattern, texts: Sequence[str]) -> bool:
    """True if a third of several texts are written in the script, each by an eighth of its letters: names of programs stand among them."""
    said = [text[:_BEGINNING] for text in texts[:_TEXTS]]
    written = sum(
        8 * len(script.findall(text)) > sum(map(len, _WORD.findall(text)))
        for text in said
        if not text.isascii()
    )
    return written > 1 and 3 * written >= len(said)


def detect(texts: Iterable[str]) -> str:
    """The language most of ``texts`` is in, as an ISO 639-1 code of `WORDS`; "en" where nothing tells.

    Pass what people said: tool output is English wherever the tools are. A script decides when a quarter of the
    letters is written in it; among Latin languages the most frequent words do, each counted once (a session says
    one thing over and over), and a single word tells nothing. None of the words is an English one as well.
    """
    texts = [*texts]
    whole = " ".join(texts)[:_SAMPLE]
    # a log or an address that somebody pasted is in no language; where there is nothing else it is all there is
    sample = _DATA.sub(" ", whole) if _DATA.search(whole) else whole
    sample = sample if _WORD.search(sample) else whole
    words = _WORD.findall(sample.lower())
    letters = sum(map(len, words))
    for language, script in () if sample.isascii() else _SCRIPTS:
        # who pastes messages of programs between what they say still speaks their language
        if len(script.findall(sample)) * 4 > letters > 0 or _often_in(script, texts):
            return language
    said = set(words)
    votes = {language: len(known & said) for language, known in (_FREQUENT | _OTHERS).items()}
    best = max(votes, key=lambda language: (votes[language], language == "en", language in WORDS))
    return best if votes[best] > 1 and best in WORDS else "en"
