"""Rules: standing instructions, prohibitions, permissions, preferences and deadlines.

A rule holds until it is withdrawn, so it must stand in every later context. It is told by its form: a command or a demand
together with words that make it last (always, never, from now on, every, before you ...), a prohibition, something that
needs asking first, or a date by which something must be there. A command without such words is a request for once.

The forms are listed for English, German, French, Spanish, Portuguese, Italian, Chinese, Japanese, Korean and Russian.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from autocompact.core.patterns import LazyPattern, any_of
from autocompact.core.redacted import EMPTY, filled, own
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.core.spoken import spoken
from autocompact.core.terms import terms
from autocompact.core.tokens import Counter
from autocompact.ledger.clipping import clipped
from autocompact.ledger.conventions import (
    FUNCTION,
    allows_again,
    asks_for_good,
    clauses,
    explains,
    forbids,
    handed_over,
    in_parts,
    is_document,
    is_of_a_product,
    keeps_it,
    outright,
    own_words,
    replaced,
    slot,
    spelled_out,
    states_convention,
    taken_back,
    tells_a_story,
)
from autocompact.ledger.entries import Entry
from autocompact.ledger.passages import Passage, passages, sentences
from autocompact.ledger.scan import Said, Speaker
from autocompact.ledger.wishes import likelihood
from autocompact.ledger.wrapping import holds_instructions

LONGEST = 280
"""Characters of a rule; a longer sentence is a request that has a rule in it."""

_QUOTED = LazyPattern(
    r"^[ \t]*(?:[-*•]|\d{1,3}[.)])?[ \t]*[\"“„«「]([^\n]{1,2000}?)[\"”“»」][ \t]*$", re.MULTILINE
)
"""A line of a summary that says nothing but what somebody said: the user, as no one else is told so."""

MOST, MOST_WISHES = 200, 40
"""Rules in force, and wishes, at a time: each new one is compared with all of them."""

WISH_FADE = 0.9
"""What is left of a wish's need after each compaction: a later one of the same likelihood goes first."""

ENDED, SAID_ANEW = 0.5, 0.7
"""Share of the terms that a rule and what ends it, or says it anew, have in common."""

_TAG = LazyPattern(r"^[ \t]*<[A-Za-z][\w -]{0,40}>(?![/`])|</[A-Za-z][\w -]{0,40}>", re.MULTILINE)
"""Around a client's instructions; the words before one are a sentence of their own. "results/<run>/<time>" has none."""

_LASTING = LazyPattern(
    r"\b(?:(?:always|never)(?!-\w)|from now on|from here on|going forward|in (?:the )?future|at all times|under no circumstances|no matter what"
    r"|whenever|every ?time|each time|any ?time|as a rule|by default|for the rest of|for all (?:future|further|subsequent)|until i (?:say|tell|ask)"
    r"|unless i (?:say|tell|ask)|every(?:thing)?|each|all|any|only|exclusively|without exception|strictly|permanently|throughout|still applies|remember(?: that| to)?"
    r"|immer|niemals|nie|stets|ab (?:jetzt|sofort|nun)|von (?:jetzt|nun) an|künftig|in zukunft|zukünftig|jedes mal|jedesmal|jede[rsmn]?|alle[nsmr]?|nur|ausschließlich|grundsätzlich|unter keinen umständen|auf keinen fall|solange"
    r"|toujours|jamais|désormais|dorénavant|à partir de maintenant|à l'avenir|à chaque fois|chaque|tou(?:s|tes?|t)|uniquement|seulement|en aucun cas|par défaut|dès que"
    r"|siempre|nunca|jamás|de ahora en adelante|a partir de ahora|en adelante|en el futuro|cada vez|cada|todos|todas?|todo (?:el|lo|archivo|cambio|commit)|s[oó]lo|solamente|únicamente|bajo ning[uú]n concepto|en ning[uú]n caso|por defecto"
    r"|sempre|nunca|jamais|a partir de agora|daqui em diante|no futuro|cada|todos|todas?|só|apenas|somente|em nenhum caso"
    r"|mai|d'ora in poi|da ora in poi|in futuro|ogni(?: volta)?|tutt[ieao]|solo|soltanto|in nessun caso"
    r"|всегда|никогда|впредь|отныне|с этого момента|кажд\w+|все(?:гда|х|м)?|только|ни в коем случае)\b"
    r"|总是|始终|永远|一律|从现在(?:开始|起)|今后|以后|每次|每个|每当|所有|任何|只(?:能|要|用|许|准)?|仅|绝不|绝对不|切勿|务必|默认"
    r"|常に|必ず|いつも|絶対に|決して|今後|これから(?:は|も)?|これ以降|以降は|毎回|たびに|度に|すべて|全て|だけ|のみ|以外"
    r"|항상|언제나|절대|결코|앞으로|지금부터|매번|마다|모든|모두|만",
    re.IGNORECASE,
)
_STRONG = LazyPattern(
    r"\b(?:(?:always|never)(?!-\w)|from now on|from here on|going forward|at all times|under no circumstances|whenever|every ?time|until i (?:say|tell|ask)|unless i (?:say|tell|ask)|as a rule"
    r"|immer|niemals|nie|stets|ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|in zukunft|auf keinen fall|unter keinen umständen|grundsätzlich"
    r"|toujours|jamais|désormais|dorénavant|à partir de maintenant|à l'avenir|en aucun cas|siempre|nunca|jamás|de ahora en adelante|a partir de ahora|en ning[uú]n caso"
    r"|sempre|a partir de agora|daqui em diante|mai|d'ora in poi|da ora in poi|всегда|никогда|впредь|отныне)\b"
    r"|总是|始终|永远|一律|从现在(?:开始|起)|今后|以后(?:都|请|不)|绝不|切勿|务必|每次|常に|必ず|いつも|絶対に|決して|今後|これからは|以降は|毎回|항상|절대|결코|앞으로|지금부터|매번",
    re.IGNORECASE,
)
_PROHIBITS = LazyPattern(
    r"(?:^|[,;:(—–-]\s*|\b(?:and|but|so|please|also|(?<!i )(?<!we )(?<!they )just|then|(?<!if )(?<!when )(?<!that )(?<!unless )(?<!because )(?<!since )you|we(?! (?:do|never))|agents?)\s+)"
    r"(?:(?:please\s+)?(?:do not|don't|dont|never)\s+(?![\w-]+ing\b|(?!embed|shred|shed|wed)\w{2,}[^\We]ed\b|(?:worry|know|think|mind|forget|hesitate|understand|see|need|have|want|care|get (?:it|me)|feel|believe|remember|recall|be sorry|bother)\b)\w+"
    r"|(?:must|may|should|shall)\s?(?:not|n't)\s+\w+|(?:are|is)\s?(?:not|n't)\s+(?:allowed|permitted|supposed)|cannot\s+\w+|no\s+(?:more\s+)?(?!(?:\w+ )?(?:errors?|warnings|failures|issues|problems|results|matches|differences|regressions|worries|thanks)\b)\w+(?:ing|s)\b(?! (?:applied|found|needed|required|made|left|reported|detected|available|expected|yet|remain\w*|exists?|were|are)\b)[^.!?]{0,60}$|(?<!and )avoid\s+\w+|refrain from\s+\w+|stay away from|keep (?:your )?hands off|hands off|leave\s+[^.!?]{2,60}\s+(?:alone|untouched|as (?:it|they) (?:is|are)))"
    r"|\b(?:bitte\s+)?(?:nicht|kein\w*)\b[^.!?\n]{0,60}\b(?:\w+en)\b(?=[.!]|$)|\b(?:darfst|dürfen|darf|sollst|soll|sollen)\s+(?:\w+\s+){0,6}(?:nicht|nie|kein\w*)\b|\blass\w*\s+[^.!?]{2,50}\s+(?:in ruhe|unverändert|weg)\b"
    r"|(?:^|[,;:.!(—–-]\s*(?:(?:et|mais|puis|surtout)\s+)?|\b(?:surtout|veuillez|merci de|prière de|demande de|de façon à|afin de)\s+)"
    r"(?:ne\s+(?:\w+[ -]){1,3}(?:pas|jamais|plus|rien)\b|n'\w+(?:-\w+)?\s+(?:pas|jamais|plus|rien)\b|ne\s+(?:pas|jamais|plus|rien)\s+\w+)"
    r"|\b(?:(?:tu|vous)\s+ne\s+(?:dois|devez|peux|pouvez)|(?:je|nous|on)\s+ne\s+(?:veu\w|voulons|souhait\w+)|ne\s+doi(?:t|vent)|on\s+ne\s+\w+(?=\s+jamais))\s+(?:\w+\s+)?(?:pas|jamais|plus|rien)\b"
    r"|\b(?:évite[zr]?|interdi(?:t\w*|re|s|sons|sez)\b|il ne faut (?:pas|jamais|plus|rien))\b"
    r"|(?:^|[,;:]\s*|\bpor favor\s+)no\s+\w{2,}(?:es|as|en|an|éis|áis|er|ar|ir)\b(?!')(?=.*\b(?:el|la|los|las|un|una|en|de|que|sin|por|para|con|al|del|lo|le|nada|nunca|mi|mis)\b)|\b(?:evit[ae]\w*|prohibid\w+|no (?:se )?debe\w*|no (?:puedes|podés)|no se puede(?:n)? (?:usar|utilizar|tocar|modificar|cambiar|borrar|subir))\b"
    r"|(?:^|[.,;:(—–-]\s*|\b(?:por favor|favor|e|mas|também|então|só|vocês?)\s+)não\s+"
    r"(?!\w+(?:ou|eu|iu|[aei]ram|ei)\b|(?:é|são|está|estão|tá|tem|têm|há|era|foi|foram|seria|vi|dá|consegu\w*|sei|vejo|entendi|lembro|acho|tenho|fui|sou|estou|funciona\w*|aparece\w*|abre|carrega|existe\w*|roda|bate|faz sentido|rola|só|apenas|mais)\b)\w+"
    r"|\bnão\s+(?:quer(?:o|emos)\s+que|pode[mr]?|deve[mr]?|deveria\w*|se deve|é para|é pra)\b|\bnon\s+\w+(?:re|te|e)\b|\bне\s+\w+(?:й|йте|ть|ти)\b|\bнельзя\b|\bзапрещ\w+"
    r"|不要(?!(?!再|随便|乱)[^，。！？,.!?\s]{0,8}了(?:吧|啊)?(?:[，。！？,.!?\s]|$))|不准|不许|不能|不得|禁止|(?<![区特差级分个性类告离辨])别(?!的|人)|请勿|勿|ないで(?:ください)?|しないこと|禁止|てはいけない|てはならない|ては(?:だめ|駄目)|하지 ?마|하지 ?말|금지|안 ?돼",
    re.IGNORECASE,
    needs=r"not\b|n(?:'|(?<!\wn)(?:o|e|on|ever|icht|ie)\b)|dont|kein|avoid|cannot|refrain|stay away|hands off|leave|lass|interdi|evit|prohibid",
)
_ASKS_FIRST = LazyPattern(
    r"\b(?:ask(?: me)?(?: first)? before|ask (?:me )?first|check with me|confirm with me|(?:get|wait for|needs?|requires?|with(?:out)?) (?:my |our |explicit |prior |the user's |user )*(?:approval|permission|consent|confirmation|sign-?off|go-?ahead|ok(?:ay)?)"
    r"|without (?:asking|telling|checking|being asked|my (?:\w+ ){0,2}(?:approval|permission|consent|ok(?:ay)?|say(?:-so)?|go-ahead|confirmation|review|agreement|sign-?off))|before (?:you )?\w+ing\b[^.!?]{0,60}\b(?:ask|check|confirm|tell)|only (?:when|if|after) i|(?:frag|frage|fragt) (?:mich )?(?:vorher|zuerst|erst|immer|bevor)|erst (?:fragen|rückfragen)|vorher (?:fragen|absprechen)|ohne (?:meine |vorherige |ausdrückliche |zu fragen|rück)\w*|bevor du [^.!?]{2,60} frag\w*"
    r"|demande[zr]?(?:-moi)? (?:toujours )?(?:d'abord |avant)|avant de [^.!?]{2,60},? demande|sans (?:mon|ma|me|demander|accord|autorisation|permission)|pregunta(?:me|r)?(?: siempre)?(?: primero| antes)|antes de [^.!?]{2,60},? pregunta|sin (?:mi|preguntar|permiso|autorizaci[oó]n|aprobaci[oó]n)"
    r"|pergunt\w+ antes|sem (?:minha|perguntar|autoriza)|chiedi(?:mi)? (?:sempre )?prima|senza (?:la mia|il mio|chiedere|permesso)|спрашивай|спроси\w* (?:меня )?(?:перед|сначала)|без (?:моего|разрешения|спроса))\b"
    r"|先(?:问|询问|征求|跟我确认)|(?:之前|前)[^。！？]{0,12}(?:问我|确认|请示)|未经|没有?我的?(?:允许|同意|许可|批准)|前に[^。！？]{0,20}(?:確認|聞い|尋ね|許可)|許可(?:なく|なし)|承認(?:なく|なし)|勝手に|먼저 ?(?:물어|확인)|전에[^.!?]{0,20}(?:물어|확인)|허락 ?없이|승인 ?없이",
    re.IGNORECASE,
)
_DEMANDS = LazyPattern(
    r"\b(?:must(?!-)|have to|has to|shall|make sure|ensure|be sure to|required?|mandatory|not allowed|stick to|insist"
    r"|muss|müssen|musst|soll(?:st|en|te)?|sorge dafür|stelle? sicher|achte darauf|pflicht|gilt|doi(?:t|s|vent)|il faut|veille[zr]?|assure[zr]?-?(?:toi|vous)|obligatoire|debe[ns]?|tiene[ns]? que|hay que|aseg[uú]r\w+|obligatori[oa]|deve(?:m|no)?|bisogna|certifi(?:que|quem|car)\w*|assicur\w+|должн\w+|нужно|обязательно|следует)\b"
    r"|必须|须|应该|应当|要求|需要|确保|なければならない|ならない|しなさい|すること|必要(?:が|で)|こと[。.]?$|해야|하세요|하십시오|할 것",
    re.IGNORECASE,
)
_PREFERS = LazyPattern(
    r"\b(?:i(?:'d| would) (?:prefer (?:if |that )?(?:you|your|my|all|every|short|long|concise|no |not to)|rather (?:you|have you|see)|like (?:my|all|it when))|i (?:prefer|like (?:my|all|it when|short|long|concise)|dislike|hate (?:it )?when you|want (?:all|every|my|you to always|only)|(?:would )?only want|(?:don't|do not|never) want (?:you to|any|my \w+ to))|we (?:prefer|(?:don't|do not) want (?!to\b)|only use|always use|use only|never use|don't use|do not use)|my preference|our convention|convention is|house style"
    r"|(?:answer|reply|respond|speak|talk|communicate|comment)\b[^.!?]{0,40}\bin (?:english|german|french|spanish|portuguese|italian|chinese|japanese|korean|russian|dutch|polish|plain|british|american|simple)|(?<!to )call me (?!when|if|out|back|at|on|in|later|crazy|old)\w+|address me\b|(?<!to )(?<!that )(?<!which )(?<!they )keep (?:(?:your|all|the|every|each) )?(?:answers?|replies|responses|commits?|messages?|functions?|it|comments?)\b|be (?:brief|concise|terse|formal|polite)"
    r"|ich (?:bevorzuge|(?:möchte|will|hätte gern\w*),? (?:dass|keine?\w*|nur|immer|alle)|mag (?:keine|lieber))|(?:antworte|schreibe?|sprich|rede)\w*\b[^.!?]{0,30}\b(?:auf|in) \w+|nenn mich|duze|sieze|fass dich kurz|je préfère|réponds?\b[^.!?]{0,30}\ben \w+|tutoie|appelle-moi|prefiero|responde\b[^.!?]{0,30}\ben \w+|ll[aá]mame|prefiro|responda\b[^.!?]{0,30}\bem \w+|preferisco|rispondi\b[^.!?]{0,30}\bin \w+|предпочитаю|отвечай)\b"
    r"|(?:用|以)(?:中文|英文|英语|德语|日语|简体|繁体)[^。！？]{0,6}(?:回答|回复|写)|我(?:更)?(?:喜欢|希望|偏好)(?:你|您|用|以|代码|回答|所有|每)|叫我|(?:日本語|英語|中国語|ドイツ語|敬語)で|(?:ほうが|方が)(?:いい|好き|よい)|を好み|呼んで|(?:한국어|영어|존댓말)로",
    re.IGNORECASE,
)
_PERMITS = LazyPattern(
    r"\b(?:you (?:may|can|are allowed to|have (?:my )?permission to|don't (?:need|have) to ask)|feel free to (?!(?:let|ask|reach|contact|tell)\b)|it(?:'s| is) (?:ok|okay|fine|allowed) (?:to|if you)|(?:is|are) (?:now )?(?:allowed|permitted|ok)|go ahead and|no need to ask"
    r"|du (?:darfst|kannst)|ihr dürft|(?:ist|sind) (?:jetzt )?(?:erlaubt|ok|okay)|tu peux|vous pouvez|(?:est|c'est) permis|(?:ya|ahora|también|tú|vos|usted(?:es)?) (?:lo |la |los |las )?(?:puede[sn]?|podés)|puedes (?:usar|utilizar)|está permitido|tienes permiso|(?:você|vocês|vc|tu|já|agora|também) pode[sm]?|puoi|можешь|разрешено)\b"
    r"|你?(?:现在)?可以|允许|无需(?:再)?问|(?:ても|でも)(?:いい|よい|構いません|大丈夫)|許可します|해도 ?(?:돼|됩니다|좋)",
    re.IGNORECASE,
)
_DEADLINE = LazyPattern(
    r"\b(?:deadline|due (?:on|by|date|in|at|today|tomorrow|monday|tuesday|wednesday|thursday|friday)|no later than|(?:by|until|before) (?:the end of |end of |next |this )?(?:today|tonight|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|midnight|eod|cob|january|february|march|april|may \d|june|july|august|september|october|november|december|\d{1,2}(?:st|nd|rd|th)?\b(?! ?(?:%|\w*(?:minutes?|hours?|hrs?|days|weeks|months|years|percent|points|times|people|items|steps|px|mb|gb|kb|ms|x)\b))|\d{4}-\d\d)"
    r"|(?:freeze|demo|release|launch|meeting|presentation|cutover) (?:is|starts|begins|will be) (?:on|at|in|today|tomorrow|next)|bis (?:spätestens |zum |nächsten |kommenden |heute|morgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|ende)\w*|spätestens|frist|abgabe|avant (?:le |lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|ce soir)|d'ici (?:à )?(?:lundi|mardi|mercredi|jeudi|vendredi|demain|la fin|le)|au plus tard|date limite|échéance"
    r"|antes (?:del|de) (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana|las|\d)|a más tardar|fecha límite|para (?:el )?(?:lunes|martes|miércoles|jueves|viernes|mañana)|prazo|até (?:amanhã|segunda|terça|quarta|quinta|sexta|\d)|entro (?:il|domani|luned|marted|mercoled|gioved|venerd)|scadenza|срок|до (?:понедельника|вторника|среды|четверга|пятницы|завтра|конца))\b"
    r"|截止|(?:之前|以前|前)(?:必须|要|需)?(?:完成|交|提交|上线)|最晚|最迟|期限|締め?切|まで(?:に)|마감|까지",
    re.IGNORECASE,
)
# In the three patterns below a hyphen after "ok" is an item's mark and nothing else: read in two ways, "ok-ok-ok ..." would
# take time exponential in its length.
_IMPERATIVE = LazyPattern(
    r"(?:(?:ok(?:ay)?|please|and|also|then|so|but|just|oh|hey|btw|by the way|important|note|reminder|remember|rule|one more thing|another thing|additionally)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*"
    r"(?:always|never|only|please|use|write|answer|reply|respond|keep|put|add|run|make|do|call|commit|push|name|format|follow|prefer|treat|mark|sign|end|begin|start|include|exclude|log|test|document|comment|check|ask|tell|show|give|send|store|save|read|stick|work|stay|be|quote|cite|prefix|tag|list|report|update|create|delete|remove|limit|cap|wait|stop|leave|skip|ignore|verify|confirm|review|assume|translate|describe|explain|summari[sz]e|address|speak|talk|round|convert|indent|spell|capitali[sz]e|sort|return|raise|handle|mock|branch|merge|rebase|squash|deploy|install|pin|bump|open|close|link|attach|reference|mention)\b",
    re.IGNORECASE,
)
_MUSES = LazyPattern(
    r"\b(?:i think|i guess|i thought|i wonder|wondering|maybe|perhaps|not sure|in theory|it seems|seems like|looks like|would it|probably|consider whether|if you need specific|feel free to ask)\b"
    r"|\b(?:ich glaube|ich denke|vielleicht|je pense|peut-être|creo que|quizás?|tal vez)\b|我觉得|也许|可能|かもしれ|と思う|と思います",
    re.IGNORECASE,
)
_STYLE = LazyPattern(
    r"(?:(?:ok(?:ay)?|please|and|also|then|so|but|just|btw|by the way|important|note|reminder|remember|rule|one more thing|additionally)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*"
    r"(?:only \w+|stop \w+ing\b|treat \w+.{0,60}\bas\b|use (?:\S+ ){1,4}(?:instead of|rather than|not|over|only|for (?:all|every|each|any))\b"
    r"|(?:use|write|keep|name|format|follow|prefer|sign|prefix|tag|quote|cite|indent|spell|capitali[sz]e|comment|document|translate|address|round|limit|cap|mock|pin|store|log|put|mark|wrap|sort)\b(?! (?:this|that|it|the [^.!?]{2,30}? (?:in|into|to)\b))[^.!?]{0,120}\b(?:all|every(?:where|thing)?|each|any|(?:commit )?messages|comments|names?|identifiers|tests|functions|files|docs|documentation|documents|branches|keywords|dates|numbers|spelling|style)\b(?!/)"
    r"|(?!(?:i|we|it|he|she|they|the|my|his|her|this|that|there|you)\b)\w+ [^.!?]{2,80}\b(?:before|after|on|with|for|in|at) (?:each|every)\b|(?:when(?:ever)?|if|before|after|once|each time|wherever) (?:you|we|an?|any|\w+ing(?= \w))\b[^.!?]{2,120}, ?(?:please |then |always |first )?(?:do|don't|never|ask|make sure|ensure|try|run|use|stop|wait|tell|check|write|add|keep|put|say|inspect|verify|leave|open|commit|explain|give|conduct|start|prefer|update|report|note|mark)\b"
    r"|(?:when(?:ever)?|each time|every time|wherever) (?:the|my|our)\b[^.!?,]{2,80}, ?(?:please |then |always |first )?(?:do|don't|never|ask|make sure|ensure|try|run|use|stop|wait|tell|check|write|add|keep|put|say)\b"
    r"|no (?!problem|worries|idea|need|thanks|way|rush|fixes)(?:new |more |extra |external |additional )?[a-z]{4,}(?: please)?[.!]?$|(?:verwende|benutze|nutze|schreib\w*|halte|nenne|formatiere|bevorzuge)\b[^.!?]{2,100}\b(?:immer|alle[nsr]?|jede[rsn]?|nur|statt|überall)\b|(?:bitte )?kein\w* [^.!?]{3,60}[.!]?$"
    r"|(?:utilise[zr]?|écri[st]\w*|garde[zr]?|nomme[zr]?|préfère[zr]?)\b[^.!?]{2,100}\b(?:toujours|tou(?:s|tes?|t)|chaque|plutôt|uniquement|partout|au lieu)\b|(?:pas de|aucun\w*) [^.!?]{3,60}$"
    r"|(?:usa|utiliza|escribe|mantén|nombra|prefiere)\b[^.!?]{2,100}\b(?:siempre|tod[oa]s|cada|s[oó]lo|en lugar|en vez)\b|(?:sin|nada de|ning[uú]n\w*) [^.!?]{3,60}$)",
    re.IGNORECASE,
)
_GENERIC = LazyPattern(
    r"(?:(?:ok(?:ay)?|please|and|also|but|note|rule)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*(?:(?:all|every|each|any|no) (?!(?:of )?(?:this|these|those|that|it|tests? (?:fail|pass))\b)[a-z-]+(?: [a-z-]+)?"
    r"|(?:(?:new|public|our|unit|integration|the) )*(?:functions|methods|classes|modules|files|tests|commits|commit messages|messages|branches|branch names|names|variables|constants|comments|docstrings|docs|pull requests|prs|merges|releases|migrations|endpoints|routes|types|imports|errors|exceptions|logs|secrets|dependencies|prices|answers|replies|agents|workers|headings|titles|paths))"
    r" (?:should|must|have to|has to|need to|needs to|may|shall|are to|go|live|belong|end|start|use)\b"
    r"|(?:toutes? les|tous les|les) [^.!?]{2,50} doivent\b|(?:tod[oa]s l[oa]s|l[oa]s) [^.!?]{2,50} deben\b|(?:alle|die) [^.!?]{2,50} (?:müssen|sollen|dürfen)\b|\w+ case (?:on|in|for)\b",
    re.IGNORECASE,
)
_OF_AN_AGENT = LazyPattern(
    r"(?:the|your|its) (?:\w+ )?(?:agent|assistant|model|bot|reviewer|author) (?:has |had )?(?:never|always|only) \w+(?:ed|wn|en)\b",
    re.IGNORECASE,
)
"""Begins what is told of an agent's work: "the agent never opened the file"."""

_NOT_A_RULE = LazyPattern(
    r"^(?:i|we|it|this|that|there|they|he|she|what|why|how|when|where|who|is|are|was|were|did|does|do you|do we|can you|could you|would you|will you|have you|has|hmm+|yes|no|nope|thanks|thank you)\b(?!.*\b(?:must|prefer|want you|never|always|need you to|convention|only use|should|without|approval|permission|deadline|due)\b)",
    re.IGNORECASE,
)
_WITHDRAWS = LazyPattern(
    r"\b(?:no longer|no need (?:to|for)\b[^.!?]*\b(?:any ?more|from now on|now|again)|not any ?more|anymore|forget (?:the|that|about|what i said)|scrap|drop the|lift(?:ed)?|ignore (?:the|my|what i said)|(?:rule|restriction|ban) (?:is )?(?:gone|lifted|off|over|withdrawn|no longer)|you (?:may|can) (?:now|again)|now (?:you )?(?:may|can)|is (?:now )?(?:allowed|ok|okay|fine)(?: now| again)?"
    r"|nicht mehr|vergiss|gilt nicht|aufgehoben|du (?:darfst|kannst) (?:jetzt|nun|wieder)|oublie|ne (?:\w+ ){1,3}plus|tu peux (?:maintenant|désormais|à nouveau)|olvida|ya no|ahora puedes|puedes (?:ahora|ya)|esquece|dimentica|забудь|больше не)\b"
    r"|不再|不用再|忘(?:掉|了)|取消|现在可以|もう(?:必要|いい|しなくて)|忘れて|やめて(?:いい|よい)|今は(?:ても)?いい|더 ?이상|이제 ?(?:해도|괜찮)",
    re.IGNORECASE,
)
_ANY_WORDS = any_of(_ASKS_FIRST, _STRONG, _DEADLINE, _PREFERS, _DEMANDS, _PERMITS, _WITHDRAWS)
"""Most sentences have none of these words: one look for all of them spares the looks for each."""

_LIST_OF_RULES = LazyPattern(
    r"\b(?:(?:ground |house |working |coding |team |standing |hard )?rules|guidelines|conventions|constraints|preferences|policies|working agreements?|non-negotiables?|dos and don'ts|don'ts"
    r"|regeln|richtlinien|vorgaben|règles|consignes|contraintes|reglas|normas|directrices|regole|regras|правила)\s*$|规则|规范|约定|ルール|規則|規約|규칙",
    re.IGNORECASE,
)
_LIST_OF_WORK = LazyPattern(
    r"\b(?:requirements?|features?|tasks?|to-?dos?|steps|deliverables|acceptance criteria|specs?|specification|user stories|scope|goals?|objectives|functionality|endpoints"
    r"|anforderungen|aufgaben|schritte|ziele|funktionen|exigences|tâches|étapes|objectifs|fonctionnalités|requisitos|tareas|pasos|objetivos|funcionalidades|tarefas|requisiti|compiti|passi|obiettivi"
    r"|требования|задачи|шаги|цели)\b|需求|要求|任务|功能|步骤|目标|要件|タスク|手順|機能|요구 ?사항|작업|기능"
    r"|^(?:(?:please|can you|could you|now|then|i want you to|i need you to|let's|we need to|bitte|por favor)\b[, ]*)*"
    r"(?:build|implement|create|write|add|make|develop|design|fix|change|update|refactor|do|finish|extend|port|migrate|clean|review|check|baue|erstelle|implementiere|schreibe|crée|écris|ajoute|crea|escribe|añade|implementa|criar?|scrivi|aggiungi|создай|напиши|добавь)\b"
    r"|\b(?:the following|should|must|need to|needs to)(?: (?:be able to|support|have|do|include|contain))?$",
    re.IGNORECASE,
)
"""Heads what is to be done, or what the outcome has to be like: items below it are parts of the request."""

LONG_LIST, MOSTLY = 12, 0.7
"""Items of all lists of a message from which on they describe a task, unless their heading, or the form of so many of them,
says that they are rules."""

_OF_WORK = LazyPattern(
    r"\b(?:push|commit|merge|rebase|squash|stash|amend|deploy|releas|publish|install|upgrad|downgrad|delet|touch|modif|edit|renam|rewrit|refactor|reformat|overwrit|run\b|execut|use\b|using|add\b|introduc|import|mock|skip|disabl|ask\b|tell\b"
    r"|branch|pull request|\bprs?\b|production|credential|secret|(?:new|external|extra|third.party) (?:dependenc|librar|packag)|dependenc"
    r"|änder|lösch|verwend|benutz|nutz|frag|installier|modifi|supprim|utilis|demand|cambi|borr|usa\b|uses\b|utiliz|pregunt|alter|apag|pergunt|chied|cancell|изменя|удаля|использ|спраш)"
    r"|推送|提交|合并|修改|删除|使用|安装|部署|询问|问我|コミット|プッシュ|変更|削除|使用|使わ|確認|푸시|커밋|수정|삭제|사용",
    re.IGNORECASE,
)
"""What somebody does who works on a task, unlike what the outcome does."""

_LABEL = LazyPattern(
    r"[\W_]*(?:[\w-]+ ){0,2}(?:rule(?! of)|constraint|restriction|policy|preference|prohibition|convention|guideline|regel|einschränkung|vorgabe|richtlinie|vorliebe|präferenz"
    r"|règle|contrainte|préférence|consigne|regla|restricción|preferencia|norma|regra|restrição|preferência|regola|vincolo|preferenza|правило|ограничение|предпочтение)[\W_]{0,3}(?:[:：]|$)"
    r"|[\W_]*\w{0,8}(?:规则|约束|限制|偏好|ルール|規則|制約|好み|規約|규칙|제약|선호)[\W_]{0,3}(?:[:：]|$)",
    re.IGNORECASE,
)
"""What calls itself a rule: "SAFETY RULE: ...", "User preference: ...". All that its paragraph says belongs to it."""

_DESCRIBES = LazyPattern(
    r"\b(?:i|i'm|i've|i'll|i'd|we're|we've|we'd|we'll|he|she|it|they|he's|she's|it's|they're|they've|you've|you're|there|there's|who|that|everyone|someone|people|has|have|had|was|were|been|as|makes?|seems?|my \w+|(?:so|and|but),? (?:i|we|he|she|they))(?: \w+ly| also| just| totally| may| might)? (?:always|never|whenever|every ?time|each time)\b(?!,? (?:want|expect|need) )"
    r"|\b(?:whenever|every ?time|each time) (?:i|we|they|he|she|it|a \w+)\b(?! (?:say|ask|tell|push|open|type|write|report|mention))|\byou never know\b|\bi'll never\b",
    re.IGNORECASE,
)
"""Words of a story, in which "always" and "never" say how things are."""

_TELLS = LazyPattern(
    r"\b(?:i|i've|i'm|we|we've|he|she|they) (?:\w+ly )?(?:\w+ed|was|were|had|have|aim|prefer|increase|try|love|hope|plan|will|'ll|went|got|am)\b|\b(?:would be|was|were|been|had) \w+(?:ed|en)\b|\b(?:was|were|had|if there's)\b",
    re.IGNORECASE,
)
_ENGLISH = LazyPattern(
    r"\b(?:the|of|and|is|it|it's|my|you|with|for|that|this|was|i'm|i've|to|are|i|in|but|so)\b", re.IGNORECASE
)

_EXPLAINS = LazyPattern(
    r"(?:(?!what|that|which|who|if|when|it)\S+ ){2,3}(?:is|are|was|were)\b", re.IGNORECASE
)
_FEW = 2
_ADDRESSES = LazyPattern(
    r"\b(?:from now on|going forward|under no circumstances|until i|unless i|whenever i (?:say|ask|tell)|you (?:may|must|should|shall|can|need|have to|are|will|always|never)|ab jetzt|künftig)\b"
    r"|(?:^|[,:;]\s*)(?:(?:always|never)(?!-|\s+\w*[^su\W]s\b)|immer|nie|niemals|stets|toujours|jamais|siempre|nunca|sempre|mai)\b",
    re.IGNORECASE,
)
_CLAUSES = LazyPattern(
    r"[,:;.()—–]\s*(?:(?:and|but|so|then|now)\s+)?|\b(?:and|but|so|now|remember,?|please)\s+", re.IGNORECASE
)
_PASSING = LazyPattern(
    r"\b(?:until then|in the meantime|after all|this (?:one )?time|just (?:this )?once|bis dahin|en attendant|hasta entonces|mientras tanto|nel frattempo)\b|在那之前|それまで",
    re.IGNORECASE,
)
_REPORTS = LazyPattern(
    r"(?:my (?:goal|plan|aim|hope|idea)|if i|even if|some days|i|we|oh|it|there|they|he|she|yes|yeah|yep|hmm+|this|that|these|those|basically|despite|however|plus|maybe|e\.g\.|for example)\b(?!.*\b(?:i (?:want|prefer)|must never|must always)\b)",
    re.IGNORECASE,
)
_PASTED = LazyPattern(
    r"\\[nt]|\"\s*[:}\],]|[{\[]\s*\"|[✓✔✗✘][^\n]{1,200}[✓✔✗✘×]|<\w{1,12} [\w-]{1,20}=|\w=\"https?:|^\s*(?:[>$#+]|\d+:)\s|^\.\.\.|— [\d.,%]+ —|^(?i:failed to \w|fatal: |error: )"
    r"|^(?i:what(?:'s| is| are) (?:this|that|these|those)\b|why (?:is|are|does|do|did)\b|how come\b)"
)
"""Output of a program, JSON or a row of figures that somebody pasted, the end of something that was cut, or a question without
its sign."""

_CASE = LazyPattern(
    r"(?:can|could|would|will) you\b[^;.!?]*\b(?:where|which|that|who|when|because|since) (?:we|they|it|he|she|i|you)\b[^;.!?]*\b(?:and|but) (?:do not|don't|never)\b",
    re.IGNORECASE,
)
"""A question about a case in which something is not done."""

_EXAMPLE = LazyPattern(
    r"\W*(?:e\.g\.|for (?:example|instance)|z\.\s?b\.|zum beispiel|par exemple|por ejemplo|por exemplo|per esempio|например|例如|比如|たとえば|例えば|예를 들)",
    re.IGNORECASE,
)
_STEPS = LazyPattern(
    r"\bstart (?:by|with)\b.*\bthen\b|\bthen\b.*\bthen\b|\bdann\b.*\bdann\b|\bpuis\b.*\bpuis\b|\bluego\b.*\bluego\b",
    re.IGNORECASE,
)
"""An order of work, to be gone through once."""

_POINTS_BACK = LazyPattern(
    r"(?:\W*(?:please|also|and|so|but)\b,?)*\W*(?:(?:do not|don't|never|always)\s+)?(?!be\b|is\b)\w+(?: \w+)? (?:it|them|those|these)\b",
    re.IGNORECASE,
)
"""A rule about "it" or "them": the sentence before says what these are."""

_SUBJECT = LazyPattern(
    r"(?:(?:ok(?:ay)?|please|and|also|but|so|note|rule|remember)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*(?:you|we|everyone|everything|nobody|agents?|workers?|every|each|all|any|no|make sure|ensure|be sure|your|our|only|the (?:code|tests?|commits?|answers?|output|branch))\b",
    re.IGNORECASE,
)
_ENGLISH_DEMAND = LazyPattern(
    r"\b(?:must|have to|has to|shall|make sure|ensure|be sure to|required?|mandatory|not allowed|stick to|insist)\b",
    re.IGNORECASE,
)
_ONCE = LazyPattern(
    r"\b(?:this (?:one )?time|just (?:this )?once|only (?:this )?once|for now|this once|diesmal|dieses eine mal|ausnahmsweise|cette fois|esta vez|por esta vez|desta vez|questa volta|в этот раз)\b"
    r"|这(?:一)?次|今回(?:だけ|は)|이번(?:만|에는)",
    re.IGNORECASE,
)
_LANGUAGE = LazyPattern(
    r"\b(?:answer|reply|respond|write|speak|talk|communicate|antworte|schreib|sprich|réponds|écris|responde|escribe|rispondi|scrivi|responda|отвечай)\w*\b[^.!?]{0,40}\b(?:in|auf|en|em|на)\s+\w+|(?:中文|英文|英语|德语|日语|日本語|英語|中国語|ドイツ語|한국어|영어)",
    re.IGNORECASE,
)
_MODAL = frozenset(
    terms(
        "always never from now on only please must should may can allowed ok every each any all without before after explicit approval permission ask asking"
        " forget said say drop mind changed actually fine good okay moved switched longer anymore pls please thanks"
        " immer nie nicht kein nur bitte ohne vorher jetzt wieder vergiss gesagt doch toujours jamais sans oublie dit finalement"
        " siempre nunca sin olvida dije lo"
    )
)

_USING = frozenset(
    terms(
        "use using add adding write writing put include have make new more reply replies answer answers verwende verwenden benutze benutzen nutze utilise utiliser uses usa usar"
    )
)
"""What a prohibition says beside the thing that it forbids, and a permission of that thing need not."""

_LITTLE = 1
"""Words of a rule beside what it is to use: "for everything", "for indentation"."""


class Rule(Struct, frozen=True, kw_only=True):
    """A standing instruction as it was said.

    Attributes:
        text: the sentence, on one line.
        permits: True if it allows something, or takes a rule back: then it may only matter for the rule that it ends.
        stands: True if it has the form of a standing instruction by itself.
        about: its content terms, without the words that only make it a rule.
        likely: of a sentence without that form, which is a wish, how likely it is meant to last.
    """

    text: str
    permits: bool
    stands: bool
    about: frozenset[str]
    likely: float = 0.0


def rules_in(text: str, *, strict: bool = False) -> Iterator[Rule]:
    """The rules that ``text`` states, and what may be some without their form, in order.

    Args:
        text: words of the user, or of whoever gives the orders.
        strict: take only sentences that say plainly that they last, as for a long file of instructions.
    """
    found = [*passages(text)]
    quotes = () if strict else handed_over(text)
    is_long = not strict and _is_long_task(found)
    titled = not strict and is_document(text)
    for passage in found:
        if not strict and _is_labelled(passage):
            yield from _labelled(passage.told)
            continue
        listed = len(passage.about) < 80 and _LIST_OF_RULES.found_in(passage.about)
        of_work = not (strict or listed) and _describes_work(passage, is_long=is_long)
        about = passage.about if len(passage.about) < 80 and _LASTING.found_in(passage.about) else ""
        for before, sentence in _with_context(passage.text):
            said = sentence.strip(' -*#>\t|"')
            told = own_words(said, quotes) if quotes else said
            if len(said) > LONGEST or not told or (of_work and not _limits_work(told)):
                continue
            if titled and not listed and not _holds_in_a_document(told):
                continue
            under = f"{about}: " if about else ""
            stands = is_rule(f"{under}{told}", strict=strict) or (listed and _is_directive(told))
            permits = not strict and (_permits(told) or allows_again(told))
            likely = 0.0 if strict or stands or permits else _likely(told, of=len(text))
            if stands or permits or likely:
                whole = f"{under}{said}"
                if before and _POINTS_BACK.begins(said) and len(before) + len(whole) < LONGEST:
                    whole = f"{before} {whole}"
                about_what = _about(taken_back(said) or said)
                yield Rule(text=whole, permits=permits, stands=stands, about=about_what, likely=likely)


def _likely(sentence: str, *, of: int) -> float:
    """How likely a sentence of a message of so many characters lasts, without the form of a rule; 0.0 where it cannot."""
    likely = likelihood(sentence, of=of)
    ruled_out = likely and (_PASTED.search(sentence) or _ONCE.found_in(sentence) or is_of_a_product(sentence))
    return 0.0 if ruled_out else likely


def _is_long_task(found: Sequence[Passage]) -> bool:
    """True if the lists have so many items that they describe a task, most of them in another form than that of a rule."""
    if sum(passage.items for passage in found) < LONG_LIST:
        return False
    items = [item for passage in found if passage.items for item in passage.text.split("; ")]
    return sum(map(is_rule, items)) < MOSTLY * len(items)


def _describes_work(passage: Passage, *, is_long: bool) -> bool:
    """True if the passage is part of a list of what is to be done, or of what the outcome has to be like."""
    if not passage.items or _LASTING.found_in(passage.about) or _PREFERS.found_in(passage.about):
        return False
    return is_long or _LIST_OF_WORK.found_in(passage.about)


def _limits_work(item: str) -> bool:
    """True if an item of a task says how, or how not, whoever does it has to work from now on."""
    if _ASKS_FIRST.found_in(item) or (_PREFERS.found_in(item) and not keeps_it(item)):
        return True
    lasts = _PROHIBITS.found_in(item) or _STRONG.found_in(item)
    return lasts and _OF_WORK.found_in(item)


def _holds_in_a_document(sentence: str) -> bool:
    """True if a sentence of a document orders, from its first word on, how to work: most of one describes or reports."""
    demands = _SUBJECT.begins(sentence) and _DEMANDS.found_in(sentence)
    orders = demands or _PROHIBITS.begins(sentence) or _STRONG.begins(sentence)
    return (orders and _limits_work(sentence)) or _PREFERS.begins(sentence) or _ASKS_FIRST.begins(sentence)


def _with_context(text: str) -> Iterator[tuple[str, str]]:
    """The sentences of a paragraph, each with the one before it; "" where it begins an item."""
    for part in text.split("; "):
        found = [clause for sentence in sentences(part) for clause in clauses(sentence)]
        yield from zip(("", *found), found, strict=False)


def _is_labelled(passage: Passage) -> bool:
    """True if the paragraph calls itself a rule, and says what it is."""
    whole = passage.told
    if not _LABEL.begins(whole) or len(whole) > LONGEST or passage.is_question:
        return False
    return len(terms(whole.partition(":")[2] or whole)) > 1


def _labelled(whole: str) -> Iterator[Rule]:
    """What a paragraph that calls itself a rule allows, and then what else it says, each behind its label."""
    label, behind = _behind_label(whole)
    parts = [sentence for part in behind.split("; ") for sentence in sentences(part)]
    allowed = [part for part in parts if _permits(part)]
    if not allowed or len(allowed) == len(parts):
        yield Rule(text=whole, permits=bool(allowed), stands=True, about=_about(behind))
        return
    others = [part for part in parts if part not in allowed]
    for permits, some in ((True, allowed), (False, others)):
        said = " ".join(some)
        yield Rule(text=f"{label} {said.strip()}", permits=permits, stands=True, about=_about(said))


def _behind_label(whole: str) -> tuple[str, str]:
    """The label of a rule, and what stands behind it: all where there is nothing but a label."""
    found = _LABEL.match(whole)
    end = found.end() if found else 0
    return whole[:end], whole[end:].strip() or whole


def _allows_something(rule: Rule) -> bool:
    """True if a rule permits, be it only for once, and forbids nothing."""
    return rule.permits or (_PERMITS.found_in(rule.text) and not _PROHIBITS.found_in(rule.text))


def _is_directive(item: str) -> bool:
    """True if an item below a heading such as "Rules" tells what to do, and is no explanation of one that does."""
    if item.rstrip("\"')` ").endswith(("?", "？")) or _PASTED.search(item) or len(terms(item)) < 2:
        return False
    if _STEPS.found_in(item):
        return False
    orders = _IMPERATIVE.begins(item) and not _EXPLAINS.match(item)
    return orders or _PROHIBITS.found_in(item) or _has_form(item)


def _permits(sentence: str) -> bool:
    """True if the sentence allows something, or says that something no longer holds."""
    if _has_no_words(sentence) or sentence.rstrip("\"')` ").endswith(("?", "？")):
        return False
    if _ONCE.found_in(sentence) or _EXAMPLE.begins(sentence):
        return False
    allows = _PERMITS.found_in(sentence) and not _PROHIBITS.found_in(sentence)
    return allows or _WITHDRAWS.found_in(sentence)


def is_rule(sentence: str, *, strict: bool = False) -> bool:
    """True if the sentence has the form of a standing instruction, or asks politely for what has it."""
    sentence = sentence if strict else spelled_out(sentence)
    if not strict and (order := outright(sentence)) != sentence:
        lasts = not sentence.rstrip().endswith(("?", "？")) or _STRONG.found_in(order) or asks_for_good(order)
        return lasts and not _CASE.found_in(sentence) and is_rule(order)
    # Chinese, Japanese and Korean say in four characters what takes nine letters
    if sentence.rstrip("\"')` ").endswith(("?", "？")) or len(sentence) < (9 if sentence.isascii() else 4):
        return False
    # most sentences have no such form: then what it must not be is not looked for
    if sentence.count("`") % 2 or not _has_form_of_a_rule(sentence, strict=strict):
        return False
    if not strict and is_of_a_product(sentence):
        return False
    passes = _PASSING.found_in(sentence) and not _DEADLINE.found_in(sentence)
    return not (passes or any(pattern.search(sentence) for pattern in (_MUSES, _PASTED, _CASE)))


def _has_form_of_a_rule(sentence: str, *, strict: bool) -> bool:
    if _OF_AN_AGENT.begins(sentence) or explains(sentence):
        return False
    if not _has_no_words(sentence) and _has_words_of_a_rule(sentence, strict=strict):
        return True
    prohibits = _PROHIBITS.found_in(sentence)
    if strict:
        return prohibits and _LASTING.found_in(sentence)
    has_form = prohibits or (not _REPORTS.begins(sentence) and _has_form(sentence))
    return has_form or states_convention(sentence)


@lru_cache(maxsize=256)
def _has_no_words(sentence: str) -> bool:
    return _ANY_WORDS.rules_out(sentence)


def _has_words_of_a_rule(sentence: str, *, strict: bool) -> bool:
    if _ASKS_FIRST.found_in(sentence) or (_STRONG.found_in(sentence) and _is_order(sentence)):
        return True
    if strict:
        return False
    if (_DEADLINE.found_in(sentence) and _is_due(sentence)) or _PREFERS.found_in(sentence):
        return True
    return _LASTING.found_in(sentence) and not _REPORTS.begins(sentence) and _is_standing(sentence)


def _is_standing(sentence: str) -> bool:
    """True if a sentence with words that make it last allows or demands something."""
    if _allows(sentence):
        return True
    demands = _DEMANDS.found_in(sentence) and not _NOT_A_RULE.begins(sentence)
    return demands and _is_general(sentence)


def _allows(sentence: str) -> bool:
    """True if a clause begins with a permission; "any help you can give" allows nothing."""
    return any(_PERMITS.begins(clause) for clause in _CLAUSES.split(sentence)) or (
        not sentence.isascii() and _PERMITS.found_in(sentence)
    )


def _is_due(sentence: str) -> bool:
    """True if the date is one by which something has to be there, not one that is told of."""
    return not (_NOT_A_RULE.begins(sentence) or _TELLS.found_in(sentence))


def _has_form(sentence: str) -> bool:
    return _STYLE.begins(sentence) or _GENERIC.begins(sentence)


def _is_general(sentence: str) -> bool:
    """True if a demand is made of whoever works, or of everything of a kind; "X must sum all Y" is what X is to do."""
    return not _ENGLISH_DEMAND.found_in(sentence) or _SUBJECT.begins(sentence) or _IMPERATIVE.begins(sentence)


def _is_order(sentence: str) -> bool:
    """True unless it only reports ("it never worked", "I always get an error")."""
    if not sentence.isascii() and len(_ENGLISH.findall(sentence)) < _FEW:
        return not tells_a_story(sentence)
    if _NOT_A_RULE.begins(sentence) or _DESCRIBES.found_in(sentence):
        return False
    return _IMPERATIVE.begins(sentence) or any(
        pattern.search(sentence) for pattern in (_DEMANDS, _PROHIBITS, _PREFERS, _ADDRESSES)
    )


def find_rules(said: Sequence[Said], *, earlier: Iterable[Entry] = ()) -> list[Entry]:
    """The rules of `find_standing` alone."""
    return [entry for entry in find_standing(said, earlier=earlier) if entry.kind == "rule"]


def find_standing(said: Sequence[Said], *, earlier: Iterable[Entry] = ()) -> list[Entry]:
    """The rules in force at the end, in the order in which they were given, and behind them the wishes of the user.

    A later rule on the same matter takes the place of an earlier one; a permission, or words that take a rule back, end
    what they are about and stand as a rule themselves, so that nobody goes on obeying what no longer holds. A wish ends no
    rule, and gives way to each on its matter.

    Args:
        said: what was said, in order.
        earlier: the rules and wishes of an earlier ledger.
    """
    kept: dict[str, _Kept] = {}
    wishes: dict[str, _Kept] = {}
    for entry in earlier:
        rule = Rule(text=entry.text, permits=False, stands=True, about=_about(entry.text))
        if entry.kind == "wish":
            wishes[_key(entry.text)] = _Kept(replace(entry, need=entry.need * WISH_FADE), rule)
        else:
            kept[_key(entry.text)] = _Kept(entry, rule)
    for words, orders in ((words, orders) for words in said if (orders := _orders(words))):
        for rule in rules_in(orders, strict=words.by in ("program", "client")):
            if not rule.likely:
                _take_in(rule, words, kept=kept, wishes=wishes)
            elif words.by == "user":
                _take_in_wish(rule, words.seq, kept=kept, wishes=wishes)
    return [one.entry for one in (*kept.values(), *wishes.values())]


def _take_in(rule: Rule, words: Said, *, kept: dict[str, _Kept], wishes: dict[str, _Kept]) -> None:
    """Put a rule among those in force, and end what it ends."""
    if words.by in ("reply", "summary") and _allows_something(rule):
        return  # a tool or a model could have written it: it may forbid, but allow nothing
    ended = _replace(kept, rule)
    _replace(wishes, rule)
    if not (rule.stands or ended):
        return
    # what comes from files and from the client comes again with each request
    need = 0.5 if words.by in ("program", "client") else 1.0
    entry = replace(_entry("rule", rule.text, seq=words.seq, need=need), where=_SPEAKERS[words.by])
    kept[_key(rule.text)] = _Kept(entry, rule)
    if len(kept) > MOST:
        _drop_one(kept)


def _entry(kind: Literal["rule", "wish"], text: str, *, seq: int, need: float) -> Entry:
    key = filled(f"{kind} {{}}", Redacted(text[:80]))
    return Entry(kind=kind, text=Redacted(text), seq=seq, key=key, need=need)  # a sentence of redacted words


def _take_in_wish(wish: Rule, seq: int, *, kept: Mapping[str, _Kept], wishes: dict[str, _Kept]) -> None:
    """Put a wish among the others, in the place of one that says the same; not if a rule says it."""
    if not wish.about or any(_says_anew(wish, one.rule) for one in kept.values()):
        return
    need = wish.likely
    for key, one in list(wishes.items()):
        if _says_anew(wish, one.rule):
            need = max(need, one.entry.need)
            del wishes[key]
    entry = _entry("wish", wish.text, seq=seq, need=round(need, 4))
    wishes[_key(wish.text)] = _Kept(entry, wish)
    if len(wishes) > MOST_WISHES:
        del wishes[min(wishes, key=lambda key: (wishes[key].entry.need, wishes[key].entry.seq))]


def _orders(words: Said) -> str:
    """What may hold rules of what was said; "" where it cannot."""
    match words.by:
        case "assistant":
            return ""
        case "summary":
            return "\n\n".join(_QUOTED.findall(words.text))
        case "program" if not holds_instructions(words.text):
            return ""
        case "program" | "client":
            return _TAG.sub("\n\n", words.text)
        case "reply":
            return words.text.replace("\n", "\n\n")  # each answer by itself
        case _:
            return in_parts(spoken(words.text))


def _drop_one(kept: dict[str, _Kept]) -> None:
    """Take out the oldest rule of a project file, which the client sends along anyway; where there is none, the oldest."""
    oldest = next(iter(kept))
    del kept[next((key for key, one in kept.items() if one.entry.where == "file"), oldest)]


FROM: Mapping[str, str] = {
    "lead": "lead",
    "reply": "user, while answering a tool",
    "summary": "as an earlier summary quotes it",
    "file": "project file",
    "client": "the client",
}
OF_CLIENTS = frozenset({"file", "client"})
"""Where rules of an entry come from that a client resends with each request."""

OF_FILES = 0.4
"""Share of the budget up to which rules of project files are told as well."""

_SHORT = 90
"""Characters to which rules are cut, at a word, where all of them whole take too much."""


def rules_section(entries: Iterable[Entry], *, budget: int, counter: Counter, heading: str) -> Redacted:
    """The rules as the first section of a summary, in the order in which they were given; "" if there are none.

    Args:
        entries: a ledger's.
        budget: tokens beyond which rules are shortened, then told in one line; none is left out but those of project
            files, which the client sends along anyway.
        counter: measures it.
        heading: the section's title.
    """
    rules = sorted((entry for entry in entries if entry.kind == "rule"), key=lambda entry: entry.seq)
    lines = {entry: _line(entry, entry.text) for entry in rules if entry.where != "file"}
    if counter.count("\n".join(lines.values())) > budget:
        lines = {entry: _line(entry, clipped(entry.text, _SHORT)) for entry in lines}
    text = "\n".join(lines.values())
    if (taken := counter.count(text)) > budget:
        text = "; ".join(clipped(entry.text, _SHORT).rstrip(".") for entry in lines)
    else:
        of_files = (entry for entry in rules if entry.where == "file")
        lines |= _of_files(of_files, budget=int(budget * OF_FILES) - taken, counter=counter)
        text = "\n".join(lines[entry] for entry in rules if entry in lines)
    return Redacted(f"## {heading}\n{text}") if text else EMPTY  # made of what was redacted


def _of_files(rules: Iterable[Entry], *, budget: int, counter: Counter) -> dict[Entry, str]:
    """The lines of the rules of project files that ``budget`` tokens hold: all in full, or shortened, prohibitions first."""
    lines = {entry: _line(entry, entry.text) for entry in rules}
    if counter.count("\n".join(lines.values())) <= budget:
        return lines
    chosen: dict[Entry, str] = {}
    for entry in sorted(lines, key=lambda entry: not _PROHIBITS.found_in(entry.text)):
        line = _line(entry, clipped(entry.text, _SHORT))
        if (taken := counter.count(line)) <= budget:
            budget -= taken
            chosen[entry] = line
    return chosen


def _line(entry: Entry, text: str) -> str:
    by = f", {FROM[entry.where]}" if entry.where in FROM else ""
    return f"- {text} [{reference(entry.seq)}{by}]"


_SPEAKERS: Mapping[Speaker, Redacted] = {
    "user": EMPTY, "lead": own("lead"), "reply": own("reply"), "summary": own("summary"),
    "program": own("file"), "client": own("client"), "assistant": EMPTY,
}  # fmt: skip


class _Kept(Struct, frozen=True):
    entry: Entry
    rule: Rule


def _about(text: str) -> frozenset[str]:
    return frozenset(terms(text if text.isascii() else FUNCTION.sub(" ", text))) - _MODAL


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!。！")


def _may_end(rule: Rule, earlier: Rule) -> bool:
    """True unless ``rule`` only says that something is fine, and that thing alone is not what ``earlier`` forbids.

    "Emojis are fine after all" ends "never use emojis"; "the tests are fine now" does not end "never skip the tests".
    """
    if _permits(rule.text) or taken_back(rule.text):
        return True
    prohibits = forbids(earlier.text) or _PROHIBITS.found_in(earlier.text)
    return prohibits and earlier.about - _USING <= rule.about


def _gives_up(gone: frozenset[str], earlier: Rule) -> bool:
    """True if ``earlier`` is little more than to use what was given up: "use npm for everything", not "run npm test before ..."."""
    return (
        bool(gone)
        and gone <= earlier.about
        and len(earlier.about - gone - _USING) <= _LITTLE
        and not forbids(earlier.text)
    )


def _replace(kept: dict[str, _Kept], rule: Rule) -> bool:
    """Take out what ``rule`` ends or says anew; True if there was any."""
    before = len(kept)
    language, same, gone = _LANGUAGE.found_in(rule.text), slot(rule.text), _about(replaced(rule.text))
    for key, one in list(kept.items()):
        shared = len(rule.about & one.rule.about)
        # to end a rule, its matter has to be met; to say it anew, little else may be said: hence two measures
        smaller = min(len(rule.about), len(one.rule.about)) or 1
        if (
            (rule.permits and shared / smaller >= ENDED and _may_end(rule, one.rule))
            or (same and same == slot(one.rule.text))
            or (_gives_up(gone, one.rule) and not rule.permits)
            or (language and _LANGUAGE.found_in(one.rule.text) and shared and not rule.permits)
            or _says_anew(rule, one.rule)
        ):
            del kept[key]
    return len(kept) < before


def _says_anew(rule: Rule, earlier: Rule) -> bool:
    larger = max(len(rule.about), len(earlier.about)) or 1
    return len(rule.about & earlier.about) / larger >= SAID_ANEW
