"""Messages that ask for nothing: a greeting, and an acknowledgement where there is nothing to agree to.

Word lists in the languages of `autocompact.core.language` and a few more. A message counts only if nothing else stands
in it, so that no request is taken for a courtesy: "ok, now the tests" and "ok?" ask for something.
"""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern
from autocompact.ledger.reactions import OPENING

LONGEST = 60
"""Characters of a courtesy, at most."""

_GREETINGS = (
    r"h(?:i+|iya|e+y+|ello)(?: (?:there|again|you|all))?|yo|howdy|greetings|good (?:morning|afternoon|evening|day)"
    r"|hallo|hallöchen|moin(?: moin)?|servus|gr(?:ü(?:ß|ss)) (?:gott|dich)|guten (?:morgen|tag|abend)|hej|hei|hoi|cześć|dzień dobry"
    r"|salut|bonjour|bonsoir|coucou|hola|buen[oa]s(?: (?:días|dias|tardes|noches))?|oi|ol[áa]|bom dia|boa (?:tarde|noite)"
    r"|ciao|buon ?giorno|buonasera|salve|merhaba|selam|привет(?:ствую)?|здравствуй(?:те)?|добр(?:ый (?:день|вечер)|ое утро)"
    r"|你好|您好|嗨|哈喽|早上好|こんにちは|こんばんは|おはよう(?:ございます)?|안녕(?:하세요|하십니까)?|नमस्ते|مرحبا|السلام عليكم"
)
_ACKNOWLEDGEMENTS = (
    r"k|kk|ok(?:ay|ey|ie|i)?|y|yes|yeah|yep|yup|sure|fine|good|great|nice|cool|al(?:l )?right|sounds good|got (?:it|that)|gotcha"
    r"|understood|i see|noted|roger(?: that)?|perfect|awesome|excellent|wonderful|ty|thx|cheers"
    r"|(?:many )?thanks(?: (?:a lot|so much|again))?|thank you(?: (?:so|very) much)?"
    r"|ja|gut|super|prima|passt|klar|alles klar|verstanden|danke(?: (?:schön|sehr|dir))?|vielen dank"
    r"|oui|d['’]accord|ça marche|compris|très bien|parfait|merci(?: (?:beaucoup|bien))?"
    r"|s[íi]|vale|de acuerdo|entendido|bueno|claro|perfecto|(?:muchas )?gracias|sim|certo|beleza|entendi|perfeito|(?:muito )?obrigad[oa]"
    r"|va bene|bene|capito|d['’]accordo|perfetto|grazie(?: mille)?|да|ок(?:ей)?|хорошо|ладно|понятно|понял[аи]?|ясно|отлично|спасибо"
    r"|好的?|好吧|行|嗯+|是的?|知道了|明白了?|收到|可以|谢谢你?|多谢"
    r"|はい|うん|了解(?:です|しました)?|[わ分]かりました|承知しました|ありがとう(?:ございます)?"
    r"|네|예|응|그래요?|좋아요?|알겠(?:어요|습니다)|고마워요?|감사합니다"
)
_MARKS = r"[^\w?？]{0,12}"
_GREETING = LazyPattern(rf"{_MARKS}(?:{_GREETINGS})(?!\w){_MARKS}", re.IGNORECASE)
_ACKNOWLEDGEMENT = LazyPattern(
    rf"{_MARKS}(?:(?:{_ACKNOWLEDGEMENTS})(?!\w){_MARKS}){{1,4}}|[👍👌🙏✅🎉🙂😊😀💯\U0001f3fb-\U0001f3ff\ufe0f\s]{{1,12}}",
    re.IGNORECASE,
)
_OFFER = LazyPattern(
    r"(?:^|[.!。！:]\s*)¿?(?:(?:hi|hello|hey|hallo|bonjour|hola|olá|ciao|so|fine|sure|alright|also|und|et)\W{1,3})?"
    r"(?:(?:what (?:else )?can i do for|(?:what|how) (?:can|may) i (?:help|assist)) (?:you|with)|(?:is there )?(?:anything|something) else"
    r"|what(?:'s| is|’s) (?:up|next|on your mind)(?=\W*$)"
    r"|(?:was kann ich (?:heute |noch |sonst )?für (?:dich|sie|euch) tun|(?:wie|womit|wobei) kann ich (?:\w+ ){0,2}(?:helfen|behilflich)|sonst noch (?:et)?was)"
    r"|(?:comment|en quoi) puis-je (?:vous |t['’])?(?:être utile|aider)|que puis-je faire pour (?:vous|toi)|autre chose"
    r"|(?:en qué|cómo) (?:te |le |les |os )?puedo ayudar|qué puedo hacer por|algo más|(?:como|em que) posso (?:te |lhe |o |a )?ajud|mais alguma coisa"
    r"|(?:come|in cosa) posso (?:aiut|esser)|cosa posso fare per|(?:qualcos'|c'è )altro|чем (?:я )?(?:могу|ещё могу) (?:вам |тебе )?помочь|что-(?:то|нибудь) ещё"
    r"|(?:请问)?(?:还?有什么|我能|我可以)(?:可以|能|我)?.{0,6}帮(?:你|您|到|助)|还?有什么需要|(?:何か|なにか|他に).{0,8}(?:お?手伝|ありますか)"
    r"|(?:무엇을|뭘|어떻게|더) .{0,8}도와)"
    r"(?:(?!\b(?:or|oder|ou|или)\b)[^.!?？。！,;，；]){0,40}[?？]\s*$",
    re.IGNORECASE,
)
"""A question that offers help in general: to agree to it asks for nothing yet."""

_PROPOSES = LazyPattern(
    r"\b(?:next|then|plan|step|steps|i(?:'ll|’ll|'d|’d)|(?:i|we) (?:will|would|can|could|should|shall|am going|plan|suggest|recommend|propose)|let me|let's"
    r"|going to|proposal|option|approach|proceed|continue|go ahead|waiting|ready"
    r"|als nächstes|danach|dann|ich (?:werde|würde|kann|könnte|schlage|empfehle)|wir (?:können|könnten|sollten)|vorschlag|plan|schritt"
    r"|ensuite|puis|prochaine?|je (?:vais|peux|pourrais|propose|suggère|recommande)|étape"
    r"|luego|después|siguiente|próxim[oa]|voy a|puedo|podría|propongo|sugiero|recomiendo|paso"
    r"|depois|seguinte|vou|posso|poderia|proponho|sugiro|poi|prossim[oa]|potrei|propongo|suggerisco|passo"
    # asked without a question mark
    r"|let me know|tell me|confirm|(?:do|would) you|want me|should|may i|soll(?:en|te)?|möchte(?:st|n)?|willst|wollen|dürfte?|bestätig\w{0,4}|sag bescheid"
    r"|voulez|veux|souhaite[sz]?|dois-je|confirme[rz]?|dites-moi|quieres?|desea|debo|confirma(?:r|s)?|dime|quer|deseja|devo|vuoi|vuole|conferm\w{0,3}|dimmi"
    r"|хотите|хочешь|нужно|подтверд\w{0,5}|скажи(?:те)?|дальше|затем|потом|следующ\w{0,5}|я (?:могу|буду|предлагаю)|могу|предлагаю|план|шаг)(?!\w)"
    r"|接下来|下一步|然后|我(?:会|可以|将|建议|打算)|建议|方案|步骤|吗|呢|请确认|告诉我|ですか|ますか|でしょうか|ください|까요|나요|주세요|次[にはの]|提案|しましょう|できます|予定|手順|다음|제안|할 수 있|하겠|계획|단계",
    re.IGNORECASE,
)


def is_greeting(text: str) -> bool:
    """True if ``text`` is a greeting and nothing else."""
    return len(text) <= LONGEST and _GREETING.fullmatch(text) is not None


def is_acknowledgement(text: str) -> bool:
    """True if ``text`` agrees or thanks, and says nothing else."""
    return len(text) <= LONGEST and _ACKNOWLEDGEMENT.fullmatch(text) is not None


def is_offer(question: str) -> bool:
    """True if ``question`` offers help in general, and nothing that one could agree to: "What can I do for you?"."""
    return _OFFER.search(question) is not None


def proposes(reply: str) -> bool:
    """True if the end of ``reply`` may speak of what could be done: to acknowledge that is to ask for it."""
    return _PROPOSES.found_in(reply[-OPENING:])
