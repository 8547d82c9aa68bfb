"""The few words a summary needs in the language of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString

from autocompact.core.redacted import own, pieces
from autocompact.core.redaction import Redacted

_KEYS = (
    "summary decisions files state context asked done left none underway earlier verbatim shortened".split()
)
_TABLE: Mapping[str, LiteralString] = {
    "en": "Summary|Decisions|Files|State|Context|Asked|Done|Pending|none|work on it was under way|Earlier account"
    "|Kept verbatim from the conversation|{left} of {all} passages of this summary were left out to fit",
    "de": "Zusammenfassung|Entscheidungen|Dateien|Stand|Kontext|Gefragt|Erledigt|Offen|nichts|die Arbeit daran lief noch"
    "|Früherer Bericht|Wörtlich aus dem Gespräch|{left} von {all} Stellen dieser Zusammenfassung sind aus Platzgründen"
    " weggelassen",
    "fr": "Résumé|Décisions|Fichiers|État|Contexte|Demandé|Fait|Reste|rien|le travail était en cours|Compte rendu antérieur"
    "|Repris mot pour mot de la conversation|{left} passages sur {all} de ce résumé ont été omis faute de place",
    "es": "Resumen|Decisiones|Archivos|Estado|Contexto|Pedido|Hecho|Pendiente|nada|el trabajo estaba en curso"
    "|Informe anterior|Literal de la conversación|se omitieron {left} de {all} pasajes de este resumen por espacio",
    "pt": "Resumo|Decisões|Ficheiros|Estado|Contexto|Pedido|Feito|Pendente|nada|o trabalho estava em curso"
    "|Relato anterior|Literal da conversa|{left} de {all} trechos deste resumo foram omitidos por espaço",
    "it": "Riassunto|Decisioni|File|Stato|Contesto|Richiesto|Fatto|In sospeso|niente|il lavoro era in corso"
    "|Resoconto precedente|Alla lettera dalla conversazione|{left} passi su {all} di questo riassunto omessi per spazio",
    "zh": "摘要|决定|文件|状态|背景|请求|已完成|待办|无|工作正在进行|之前的摘要|对话原文|为节省空间，此摘要的 {all} 处中省略了 {left} 处",
    "ja": "要約|決定|ファイル|状態|背景|依頼|完了|残り|なし|作業中|以前の要約|会話の原文|収めるため、この要約の {all} 箇所のうち {left} 箇所を省略",
    "ko": "요약|결정|파일|상태|배경|요청|완료|남음|없음|작업 진행 중|이전 요약|대화 원문|공간상 이 요약의 {all}곳 중 {left}곳을 생략함",
    "ru": "Сводка|Решения|Файлы|Состояние|Контекст|Запрошено|Сделано|Осталось|ничего|работа ещё шла|Прежняя сводка"
    "|Дословно из разговора|{left} из {all} мест этой сводки опущены для краткости",
}
PHRASES: Mapping[str, Mapping[str, Redacted]] = {
    language: dict(zip(_KEYS, pieces(own(row), lambda row: row.split("|")), strict=True))
    for language, row in _TABLE.items()
}
"""By ISO 639-1 code, the languages of `autocompact.core.language.WORDS`."""
