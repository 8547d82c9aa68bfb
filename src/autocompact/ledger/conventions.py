"""Rules that are told as facts or asked for politely: "we use tabs here", "could you keep functions short?".

`autocompact.ledger.rules` knows commands and prohibitions with words that make them last. People say as often how things are
done ("our API is snake_case", "no emojis pls", "I'm on Windows, so PowerShell please") and leave the rest to whoever works for
them. A sentence is one of these by its form: a habit of "us" in the present, what has its place, what is forbidden or enough,
what comes before each of a kind, a circumstance with what follows from it, how to answer.

What is told of something that happened, and of what a product does, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from autocompact.core.patterns import LazyPattern

LONGEST = 200
"""Characters of such a sentence; longer ones explain."""

_LEAD = r"(?:(?:ok(?:ay)?|actually|well|hm+|please|pls|and|also|then|so|but|oh|hey|hi|btw|by the way|fyi|note(?: that)?|context|remember(?: that)?|important)\b[,:!. —]*|\d+[.)]\s*|[-*•]\s*)*"

_MONTHS = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_HERE = r"(?:(?:in|for) this (?:repo\w*|project|codebase|package|module|team),? |here,? |around here,? )?"

_FACTS = LazyPattern(
    # what "we" do
    rf"{_LEAD}(?:{_HERE}we (?:(?:all|always|only|just|usually|generally) )?"
    r"(?:(?:don't|do not|never) (?:use|mock|write|commit|merge|push|add|support|import|log|store|ship|deploy)|target|indent|format|name|spell|go with|stick (?:to|with)|follow|squash|rebase|lint|version)\b"
    r"|we(?:'ve| have)? (?:switched|moved|migrated) (?:over )?(?:from [\w./-]+ )?to\b"
    rf"|{_HERE}we (?:use|keep|store|write|put|log|run|call|test|import|return|throw|deploy|pin|wrap|prefix|work)\b[^.!?]*\b(?:here|everywhere|throughout|, not|instead of|never|only|always|in this (?:repo|project|codebase)|for everything|by convention)\b)"
    # how things of ours are
    r"|(?:our|the|all|this|that) (?:[\w-]+ ){1,3}(?:is|are|uses?|follows?) (?:all |always |in |on |strictly )*(?:snake|camel|kebab|pascal)[ _-]?case\b|(?:our|all) (?:[\w-]+ ){1,3}(?:is|are) (?:all |always |in |on )*(?:bem|utc|iso ?8601|english|german|plural|singular|lower-?case|upper-?case|sorted|semver|conventional commits)\b"
    r"|[\w-]+s are (?:all |always |in |stored in )*(?:iso ?8601|utc|plural|singular|snake_case|camelcase|kebab-case|lower-?case|upper-?case|sorted|cents|integers)\b"
    r"|[\w-]+ (?:is|are) in (?:cents|utc|cet|metric|english|german|french|spanish)\b|the [\w./ -]{2,40} (?:is|are) (?:shared|read-?only|frozen|generated|protected|off[ -]limits|vendored)\b|[\w./-]+ (?:is|are) (?:protected|frozen|off[ -]limits|vendored|generated)\b"
    # what has its place
    r"|(?:all |our |new |the )?(?!it\b|this\b|that\b|these\b|those\b)[\w ]{2,30}s (?:live|stay|go|belong|come|sit|are kept|are stored) (?:out of|in|into|through|next to|under|below|beside|behind|from|with|near)\b(?! (?:play|effect|being|contact|account|mind|handy|time|general|question|doubt|line with)\b)"
    r"|(?:all|any) [\w ]{2,30} (?:goes|go|comes|come|lives|stays|belongs) (?:out of|in|into|through|next to|under|from|via)\b"
    r"|branch names?:|imports? sorted\b|backwards? compatib\w+ (?:matters|is a must)",
    re.IGNORECASE,
)
"""How things are done, from the beginning of a sentence."""

_ANYWHERE = LazyPattern(
    # forbidden, or enough
    r"\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|banned|taboo|off[ -]limits|a (?:hard )?no-?go|not (?:ok|okay|allowed|acceptable)|mandatory|compulsory)\b"
    r"|\bnothing (?:goes )?(?:in|into|may|under|outside|on|risky|new)\b(?! (?:the|this|that) (?:log|output|error))|\bstay(?:s)? out of\b|\b(?:i'm|i am) the only one (?:allowed|who)|\bonly (?:updated|merged|changed|edited|released) by\b|\bare only \w+ by\b"
    r"|\b(?:no more than|not more than|at most|at least|max(?:imum)?|never (?:below|above|under|over)|under|below|above|within|around) (?:\d[\d.,]*|two|three|four|five|ten)\s?(?:%|px|words|lines|characters|chars|mb|kb|bullet|sentences|paragraphs|items|columns|minutes|ms|seconds)"
    rf"|\b(?:answers?|respon[ds]\w*|repl(?:y|ies)|prs?|pull requests|commits|functions|messages|comments|names|them|things|it|chapters|paragraphs|sentences|explanations)\b (?:(?:be|are|stay|as) )?(?:really |very |nice and |more )?(?:short|brief|concise|terse|small|simple|plain|formal)\b(?! (?:of|for|on)\b)(?= *(?:[,.!;:)]|$|please|pls|and|in future|from now))"
    # before each of a kind
    r"|\b(?:all|every|each) (?:\w+ ){1,4}?(?:in this (?:project|repo\w*|codebase) )?(?:are|is|gets?|has|have|needs?|uses?|comes? with) (?:a |an |integers?|stored|written|their |its )\b(?! \w+ (?:error|bug|problem|issue))|\bat no (?:point|time) (?:should|may|must)\b|\b(?:is|are) to be \w+(?:ed|en|t)\b|\b(?:is|are) (?:append-only|immutable)\b|^(?!.*\b(?:bug|problem|issue|error|what|how|why|where)\b)[\w ]{2,40} in (?:this|our) (?:project|repo\w*|codebase|team|company) (?:are|is|have|has|use|go|live|start|end)\b|\b(?:talk|speak|explain|write)\b[\w ]{0,20} (?:like|as if) (?:i'm|i am|i was|i were)\b|\bi (?:always|only) want\b|\b(?:do not|don't|dont) \w+ (?:\w+ )?so (?:much|often)\b|\bfollow(?:s)? the (?:scheme|pattern|convention|format|style)\b|\b(?:has|have) to keep working (?:on|with|in)\b|\bmust not (?:appear|show up|leave|be (?:changed|touched|renamed|deleted|logged|committed|printed))\b|\b(?:nobody|no one) (?:deploys|pushes|merges|touches|commits)\b|\bin all of (?:the|our|my)\b"
    r"|\b(?:before|after|on|for|with|in) (?:each|every|any) (?:single )?(?:commit|pr|pull request|push|merge|release|change|answer|reply|step|file|function|test|message|edit|deploy\w*)\b|\b(?:that |this )?(?:applies to|goes for|holds for) the (?:whole|entire) (?:project|repo|codebase)|\b(?:across|throughout) the (?:whole |entire )?(?:codebase|project|repo)"
    # by whom, with what
    r"|\btreat (?:it|them|this|[\w/-]+) as\b|\b(?:refer to|address|call) (?:me|us|him|her|them|the [\w ]{2,20}) (?:as|by)\b|\bmy pronouns are\b|\buse [\w./ -]{2,20} throughout\b|\bkeep (?:those|these|the) (?:two|three|both) (?:strictly )?(?:separate|apart)"
    r"|\bhouse style\b|\b(?:that's|that is|it's) settled\b|\bin (?:british|american|plain|simple) english\b|\bone \w+ \w+ per (?:commit|pr|file|function|line)\b|\b(?:in|using) (?:the )?imperative(?: mood)?\b"
    # dates
    rf"|\b(?:demo|release|freeze|launch|deadline|presentation|go-?live|review|exam|hand-?over|delivery|cut-?over)\b[^.!?]{{0,25}}\b(?:is|starts|begins|on|at|by|moved to)\b[^.!?]{{0,15}}\b(?:{_DAYS}|{_MONTHS} \d|tomorrow|today|\d{{1,2}}[:.]\d\d)|\bbe (?:done|ready|finished|delivered|live) (?:by|before|until)\b",
    re.IGNORECASE,
)
"""What is enough in any place of a sentence."""

_ENDS = LazyPattern(
    r"(?:^|[,;:—–-]\s*|\b(?:so|and|but|also) )(?:no|zero) (?!(?:just|let|use|add|make|put|go|do|we|it|you|i|that|this)\b|one\b|body|other|concerns?|questions?|doubts?|regrets?|complaints?|side effects|problem|worries|idea|need|thanks|way|rush|fixes|errors?|warnings|failures|issues|changes|luck|clue|hurry|matter|results|diff)[a-z](?:(?!\b(?:was|were|is|are|has|have|had|got|gets?|found|triggered|appear\w*|happen\w*|seem\w*|show\w*|works?|needs?|left|yet|anymore|more)\b)[\w()./ -]){2,50}?(?:,? (?:please|pls|plz|thanks|thx|here|outside [\w ]+|statements?|in the future))?[.!]*$"
    r"|(?:^|, )no [\w ]{2,30}, ever[.!]*$|, (?:not a \w+ more|no exceptions)[.!]*$|(?:^|, )[\w ]{2,25} only(?:,? (?:please|pls|plz|thanks))?[.!]*$|\b(?:is|are) for [\w ]{2,25} only[.!]*$",
    re.IGNORECASE,
)
"""What a sentence or clause ends with that leaves the verb out: "no emojis pls", "ints only"."""

_TONGUE = r"(?:english|german|french|spanish|portuguese|italian|chinese|japanese|korean|russian|dutch|polish|englisch|deutsch|französisch|spanisch|anglais|allemand|français|espagnol|inglés|alemán|francés|español)"

_ORDERS = LazyPattern(
    rf"{_LEAD}(?:"
    r"(?:answer|reply|respond|explain) (?:me )?(?:short|briefly|concisely|in [\w ]{2,20} words)\b"
    r"|keep [^.!?]{2,50}\b(?:short|small|brief|simple|private|separate|boring|(?:under|below|above|within|at|around|to) ~?\d)"
    r"|(?:let|tell|show|give|ask|run|do|check|write|send|remind|use|say|add|update)\b[^.!?]*\b(?:every|each) (?:single )?time[.!]*$"
    r"|(?:short|brief|concise|long|detailed|plain|formal) (?:answers?|replies|responses?|explanations?|sentences)(?:,? (?:please|pls|thanks))?[.!]*$"
    r"|(?:stick|keep) to (?:the )?[\w ./-]{2,30}|(?:use|take) [\w./ -]{2,25} instead of\b"
    r"|(?:for (?:the rest of|all (?:future|further|coming|new)|every (?:new|future))\b|(?:every|each) time (?:you|i) |when(?:ever)? you (?:change|touch|add|edit|finish|update|write|create|delete|rename|commit|push)\b|until further notice|henceforth|as a (?:general )?rule,? |in future,? |from here on(?: out)?\b|at no (?:point|time)\b|when(?:ever)? you(?:'re| are) \w+ing\b|in this (?:codebase|repo\w*|project|team) (?:we |nobody |no one |you )?(?:never|always|don't)\b)"
    r"|i (?:don't|dont|do not) want (?:any |you to |new )"
    rf"|(?:let's )?(?:go|switch) (?:back )?to {_TONGUE}\b"
    r"|(?:less|more) [\w ]{2,20}, (?:less|more) [\w ]{2,20}"
    r"|stop \w+ing\b|(?:not|avoid) \w+ing\b"
    r"|write (?:all|every|in (?:the )?(?:first|second|third) person)\b|work on the [\w/-]+ branch\b"
    r"|use [\w./-]+(?: [\w./-]+)? (?:for everything|everywhere|and not|not)\b|(?:let's agree (?:that )?)?you only (?!(?:need|have|know)\b)\w+|(?:let's agree (?:that )?)?you (?:do not|don't|dont) (?!(?:need|have|know|want|think|worry|mind|understand|see|get|seem|look|even|really|exist|work|care)\b)\w+)",
    re.IGNORECASE,
)
"""Orders that hold for good by what they are about."""

_CIRCUMSTANCE = LazyPattern(
    rf"{_LEAD}(?:(?:i(?:'m| am| work| live| use| only have| have only)|we(?:'re| are| only have| have only)|the [\w/. -]{{2,40}} (?:is|are)|this is|our [\w ]{{2,30}} (?:is|are)|my [\w ]{{2,20}} (?:is|are))\b[^.!?]{{2,100}}?[,;—–-]? ?\b(?:so|hence|therefore),? (?:also )?(?:please|pls|no|use|treat|edit|give|only|don't|do not|dont|avoid|keep|always|never|write|answer|assume|run|make sure|stick|stay|prefer|show|put|nothing|everything|all|[\w/ -]{{2,25}} (?:please|pls)|[\w/ -]{{2,30}} (?:don't|doesn't|won't) work for me)\b"
    r"|(?:we're|we are) (?:stuck|limited|tied) (?:on|to)\b|i(?:'d| would) rather (?:have|see|get|use)\b|i (?:hate|dislike|can't stand) (?:long|short|verbose|clever|\w+ing|it when)\b)",
    re.IGNORECASE,
)
"""What is so, and what follows from it for the work."""

_FREEDOM = LazyPattern(
    rf"{_LEAD}(?:you(?:'re| are)? (?:may|can|free to|allowed to|welcome to)|feel free to|you (?:don't|do not) (?:need|have) to)\b[^.!?]*\b(?:whenever|any ?time|if you need|no need to ask|without asking|straight|directly|any(?:thing)?|everything|explain|ask)\b",
    re.IGNORECASE,
)
"""A permission that holds for good."""

_ABROAD = LazyPattern(
    # German
    r"\b(?:bei uns|hier im (?:repo|projekt)|gilt (?:fürs|für das|für) (?:ganze|gesamte)|nichts (?:verloren|zu suchen)|(?:ist|sind) (?:\w+ ){0,2}(?:tabu|verboten|pflicht|nicht erlaubt|nicht gestattet)|(?:vor|nach|bei) jede[mrs] (?:commit|push|merge|pr|änderung|antwort)|sag(?:en sie)? (?:bitte )?(?:du|sie) zu mir|siezen sie mich|(?:du|ihr) (?:kannst|darfst) (?:gern\w* )?(?:jederzeit|immer|ohne)|(?:hör|hört) (?:bitte )?auf\b|aufhören|fass\w* [^!?]{2,60} (?:nicht )?an\b|in zukunft|zukünftig|ohne (?:nachzufragen|zu fragen|rückfrage)|lieber als|(?:nimm|nutze?|verwende|benutze?) [\w.-]+ (?:statt|anstelle|und nicht)\b|lieber [^.!?]{2,40} als\b|keine [\w-]+(?: bitte)?[.!]*$|finger weg (?:von|vom)|frag\w* mich,? (?:bevor|vorher|immer)|(?:bitte )?(?:duz|siez)\w* mich|(?:bitte )?(?:mich )?duzen\b|maximal \w+ (?:sätze|zeilen|wörter|zeichen)|(?:benutz|benutze|nutz|nutze|verwende|nimm|schreib|schreibe|halt|halte) (?:bitte )?(?:immer|nur|nie|überall|stets)|jede neue \w+ (?:bekommt|braucht|hat)|ausnahmslos|ohne ausnahme|doch lieber)"
    r"|^(?:\w+ (?:bitte |mir |mich )?(?:immer|niemals|nie|stets) |verzichte\w* auf|vermeide\w* |(?:halte?|fass\w*) dich kurz)"
    r"|^(?:wir (?:rücken|benennen|nennen|arbeiten|committen|mergen|halten|nutzen|verwenden|benutzen|schreiben|nehmen|formatieren|speichern|mocken|testen)\b|bitte [^.!?]{2,90}\w{2,}(?:en|ern|eln)[.!]*$(?<!machen)(?<!anschauen)(?<!ansehen)(?<!laufen))|\b(?:nur|keine?|immer|alle\w*) [^.!?]{2,60} (?:ändern|antworten|schreiben|speichern|verwenden|benutzen|nutzen|angezeigt)\b|, also (?:bitte|keine?|nur|kein)\b"
    r"|\b(?:vorführung|demo|abgabe|präsentation|release|freeze|termin|meeting)\b[^.!?]{0,20}\b(?:ist|am|auf|bis)\b[^.!?]{0,15}\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|\d{1,2}[.:]\d|\d{1,2}\. ?(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember))|\bwenn du [^.!?]{3,60}, (?:dann )?(?:auch|immer|bitte|musst)\b|\b(?:ab jetzt|ab sofort|künftig|von nun an)\b"
    # French
    r"|^(?:ici,? |chez nous,? |dans ce (?:repo|projet|dépôt),? )?(?:on|nous) (?:utilise|utilisons|écri\w+|met|mettons|garde|gardons|n'utilise|ne mocke|se tutoie|peut se tutoyer)|\b(?:avant|après|à) chaque (?:commit|push|merge|pr|changement|réponse)|\b(?:arrête[rz]?|cesse[rz]?) de\b|\bdonc (?:pas|utilise|jamais|uniquement)\b|\bdonc [\w ]{2,20} s'il\b|^(?:pas d(?:e |')|aucune? |sans |zéro )[\w' -]{3,40}(?: (?:stp|svp|merci|s'il (?:te|vous) plaît))?[.!]*$|\b(?:et pas|plutôt que|au lieu d[e'])\b|\b(?:fais|faites) courte?s?\b|\bréponses? (?:courtes?|brèves?|concises?)\b|\b(?:tutoie|tutoyer|vouvoie|vouvoyer)\b|\buniquement\b[^.!?]{0,30}$|\bse trouvent (?:à côté|dans|sous)\b|\b(?:notre|nos) [\w ]{2,25} (?:est|sont) (?:en|tous?|toujours)\b|\b(?:utilise|utilisez|mets|mettez|écris|écrivez|garde|gardez) (?:toujours|jamais|uniquement|partout)\b|\bchaque fois que\b|\bchez nous\b|\bdonc ni\b|\bdemande[zr]?-moi (?:avant|d'abord)\b|\b(?:il faut|faut) (?:toujours|utiliser|éviter)\b|\btoujours (?:utiliser|mettre|écrire)\b|\b(?:doit être rendue?|à rendre)\b|\b(?:est|sont) (?:strictement )?(?:interdite?s?|proscrite?s?)\b"
    r"|\b(?:démo|livraison|réunion|présentation|sortie|échéance)\b[^.!?]{0,15}\b(?:est|a lieu|le|pour)\b[^.!?]{0,12}\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|\d{1,2} ?h)"
    # Spanish
    r"|^(?:aquí,? |en este (?:repo|proyecto),? )?(?:no )?(?:usamos|utilizamos|escribimos|guardamos|formateamos)\b|\b(?:antes|después) de cada\b|\bcada vez que\b|\b(?:deja|dejar|deje) de \w+r\b|\basí que (?:nada|no|usa|sin|[\w ]{2,20} por favor)|^(?:sin|nada de|ning[uú]n\w*|cero) [\w' -]{3,40}(?: (?:porfa|por favor|gracias))?[.!]*$|\bs[oó]lo enteros\b|\b(?:respuestas? (?:cortas?|breves?)|sé breve|sea breve)\b|\btr[aá]tame de\b|\b(?:usa|utiliza|escribe|pon|mantén|guarda) (?:siempre|nunca|s[oó]lo)\b|\bpreg[uú]ntame (?:antes|primero|siempre)\b|\bsin (?:pedirme|preguntarme|consultar)\b|\basi que nada de\b|\bde ahora en adelante\b|\ben este (?:repo|proyecto|código) (?:nunca|siempre|no)\b|\bhay que (?:usar|utilizar|poner) siempre\b|\bsiempre (?:usar|usa|utiliza|poner)\b|\bno (?:hagas|subas|uses|toques|añadas|agregues|borres|pongas|cambies|instales|escribas)\b|\bvan (?:junto|en|con|al lado)\b|\bnuestr[oa]s? [\w ]{2,25} (?:usan?|es|son|van?)\b|\ben vez de\b|\ba partir de ahora\b|\bestamos atad[oa]s\b|\b(?:está|están) (?:prohibid|vetad)\w+|\bme gustaría que (?:primero|siempre|nunca)\b"
    r"|\b(?:demo|entrega|reunión|presentación)\b[^.!?]{0,15}\b(?:es|para|pasa al)\b[^.!?]{0,10}\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)|\bhay que entregar\b"
    # Portuguese, Italian, Russian
    r"|\b(?:par(?:ar|a|e) de \w+r|s[óo] inteiros|antes de cada)\b|^(?:sem|nada de|nenhum\w*) [\w' -]{3,40}(?: (?:pfv|por favor|obrigad[oa]))?[.!]*$|^(?:aqui )?(?:usamos|a gente usa|não usamos)\b|\b(?:demo|entrega|reunião)\b[^.!?]{0,10}\bé (?:na )?(?:segunda|terça|quarta|quinta|sexta)"
    r"|\b(?:smett\w+ di|prima di ogni|dopo ogni|solo interi|diamoci del|dammi del)\b|^(?:niente|senza|basta|nessun\w*) [\w' -]{3,40}(?: (?:grazie|per favore))?[.!]*$|^(?:qui,? )?(?:usiamo|non usiamo|si usa)\b|\b(?:demo|consegna|riunione)\b[^.!?]{0,10}\bè (?:di )?(?:lunedì|martedì|mercoledì|giovedì|venerdì)"
    r"|^у нас\b|^(?:без|никаких) [\w -]{3,40}[.!]*$|\b(?:перестан\w*|перестать|прекрати\w*)\b|\b(?:перед|после|при) кажд\w+\b|\bтолько (?:целые|на|в|через)\b|\bна «?(?:ты|вы)»?[.!]*$|\b(?:демо|релиз|сдача|встреча)\b[^.!?]{0,10}(?:понедельник|вторник|сред[уа]|четверг|пятниц[уа])",
    re.IGNORECASE,
)

_EAST = LazyPattern(
    r"我们(?:这里|这边|项目里?|团队)?(?:都|统一|一直)?(?:用|不用|采用|规定)|都放在|统一(?:用|使用|采用|放)|必须先|之前(?:必须|要)|先给我看|简短(?:一点|些)?|所以(?:请|不要|别|用|只)|不用(?:再)?问我|可以直接|(?:周|星期|礼拜)[一二三四五六日天][^。！？]{0,10}(?:演示|发布|上线|截止|交付|开会|冻结)|(?:字段|变量|命名|接口|注释)[^。！？]{0,8}(?:是|用|统一)|别(?:再)?(?:到处|乱)|叫我|严禁|一律|(?:以后|今后)[^。！？]{0,10}都|只要[^。！？]{1,15}都?要?先|(?:格式|规范|规则)是"
    r"|うちは|統一し|方針(?:です|だ)|短め|簡潔に|手短に|(?:は|を)使(?:いません|わない)|使えません|なので[、,].{0,20}(?:お願い|して|使)|(?:せず|しないで)に?(?:聞いて|確認)|(?:月|火|水|木|金|土|日)曜[^。！？]{0,12}(?:です|まで|に)|(?:の|こと)を?やめて|確認なしで|(?:は|も)?(?:すべて|全て|全部|毎回|いつも)[^。！？]{0,20}(?:です|して|ください)|横に置|隣に置|敬語|うちの[^。！？]{1,20}では|避けて(?:ください|ほしい|$)|控えて(?:ください|$)|(?:納期|締め?切り?|期限)は",
    re.IGNORECASE,
)

_LONG = {
    "pls": "please", "plz": "please", "cant": "can't", "wont": "won't", "doesnt": "doesn't", "isnt": "isn't",
}  # fmt: skip
_SHORT = LazyPattern(rf"\b(?:{'|'.join(_LONG)})\b", re.IGNORECASE)

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

_ONCE = LazyPattern(
    rf"{_LEAD}(?:let's (?!agree|(?:go|switch) (?:back )?to )|let us|let me|i'll|i will|go ahead|now)\b",
    re.IGNORECASE,
)
"""Begins what is to be done now."""

_OF_ONESELF = LazyPattern(
    r"(?:and |but |so )*(?:i|i've|i'd|my|she|he|her|his|they|their)\b(?! (?:pronouns|am the only)|'m the only)",
    re.IGNORECASE,
)
"""Begins what people tell of themselves and others."""

_PRODUCT = LazyPattern(
    r"^(?!(?:all|every|each|any|no|new|alle[rs]?|jede[rsmn]?|keine?|tous|toutes|chaque|aucune?|tod[oa]s|cada|ning[uú]n\w*|ogni|tutt[ieao]|кажд\w+|все)\b)(?!.*\b(?:log(?:s|ged|ging)?|commit\w*|hard-?cod\w+|print\w*|expos\w+|delet\w+|push\w*|production|prod|repo\w*|source code|gelöscht|geloggt|protokolliert|supprim\w+|journa\w+|borr\w+|elimin\w+|regist\w+)\b)(?:\w+['’]?\s?){0,2}\b(?:buttons?|passwords?|forms?|pages?|app|fields?|users?|players?|spieler\w*|nutzer\w*|benutzer\w*|joueurs?|utilisateurs?|jugador\w*|usuarios?|modals?|dialogs?|screens?|menus?|cart|basket|sidebar|popup|warenkorb|panier|carrito|carrinho|carrello|knopf|schaltfläche|formular\w*|seite|anwendung|passwör\w+|feld|felder|boutons?|formulaires?|mots? de passe|champs?|botón|botones|contraseñas?|formularios?|página|campos?|botão|botões|senhas?|pulsant[ei]|кнопк\w+|парол\w+|форм[аы])\b"
    r"[^.!?]{0,30}\b(?:must|should|shall|may|can|cannot|can't|needs?|has to|have to|darf|dürfen|soll|sollen|muss|müssen|doi(?:t|vent)|deben?|nunca|deve|devono|devem|должн\w+|никогда|всегда)\b"
    r"|(?:用户|玩家|按钮|密码|表单|页面|购物车)[^。！？]{0,10}(?:绝不能|不能|必须|不得)|(?:ユーザー|カート|ボタン|パスワード|フォーム|画面)[^。！？]{0,14}(?:てはいけない|ならない|必ず|常に)",
    re.IGNORECASE,
)
"""What a product is to do, by its subject: "Passwords must have 12 characters"; not "must never be logged", which whoever works
on it has to see to, and not what holds of all of a kind."""

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

FUNCTION = LazyPattern(
    r"絶対に|不要|不准|不许|请|現在|现在|以后|可以|不用|别|所有|一律|总是|永远|必须|了|吧|都|しないで(?:ください)?|ないで(?:ください)?|してください|てください|ください|もう|やっぱり|して(?:も)?いい(?:です)?(?:よ)?|ても?いい(?:です)?(?:よ)?|です|ます|は|を|に|も|よ"
)
"""Words of Chinese and Japanese that say how something is meant, and not what."""

_COMPLAINS = LazyPattern(
    r"(?:error|\w{1,40}error|\w{1,40}exception|fehler(?:meldung)?|erreur|npm (?:warn|err\w*)|fatal|报错|错误|エラー) ?[:：]"
    r"|(?:cannot|could not|unable to) (?:find|resolve|read|open|load|access|assign|set|connect|import|parse|locate|determine|convert|destructure|redeclare)\b",
    re.IGNORECASE,
)
"""Begins the message of a program."""

_SPLIT = LazyPattern(r"(?<=[a-zà-ž0-9)\"'`%\]][!?.])\s+(?=[a-zà-žа-я])|(?<=[?!])\s+(?=[a-zà-žа-я0-9])")
_ENDS_WITHIN = LazyPattern(r"[!?.][)\"'\]]?\s")
_ABBREVIATED = LazyPattern(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|z\.b|d\.h|bzw|ca|p\.ex)\.|\.\.)$", re.IGNORECASE
)

_HANDED_OVER = LazyPattern(
    r"\b(?:translat\w+|proof-?read|correct (?:this|the following)|rephrase|reword|make this|this sentence|(?:what|was|que)\b[^.!?]{0,60}\b(?:means?|heißt|bedeutet|signifie|significa)|rewrite (?:this|the following)|übersetz\w*|korrigier\w*|tradui\w*|traduc\w*|corrige (?:este|esta|ce|cette)|traduz\w*|traduci\w*|переведи\w*|(?:told|tells) me|(?:wrote|said|says|schrieb|sagt|a écrit|dit|escribió|dice)(?= ?[:：]? ?[\"'“«„])|error(?: message)?s?|fehler\w*|erreurs?|the (?:docs?|documentation|manual|e?mail|message|readme) says?|(?:i )?got (?:an|this) e?mail|in der doku|la documentaci[oó]n dice|la doc(?:umentation)? dit)\b|用英语|英語で|翻译|报错|错误|エラー|訳し|英訳|和訳",
    re.IGNORECASE,
)
_QUOTE = LazyPattern(
    r"'[^'\n]{8,600}'(?!\w)|\"[^\"\n]{8,600}\"|“[^”\n]{4,600}”|«[^»\n]{4,600}»|„[^“”\n]{4,600}[“”]|「[^」\n]{4,600}」|『[^』\n]{4,600}』"
)


# Most sentences state nothing of the kind. One look at their words tells which of the dear patterns can match, so that a long
# log costs little more than that look.

_WORDS = LazyPattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ASCII_WORDS = LazyPattern(r"[a-z]+(?:['-][a-z]+)*")
_FUNCTION_WORDS = frozenset(
    "the of and is it my you with for that this was to are in but so a me i if please".split()
)
_CUES = frozenset(
    "forbidden prohibited banned taboo off no-go allowed acceptable mandatory compulsory nothing stay stays out only more most least max"
    " maximum never below above under over within around short brief concise terse small simple plain formal each every any applies goes"
    " holds across throughout treat refer address call pronouns use keep house settled english one imperative demo release freeze launch"
    " deadline presentation go-live golive review exam hand-over handover delivery cut-over cutover done ready finished delivered live"
    " all follow follows has have must nobody no zero ever exceptions in using house ok okay not be want like much often".split()
)
_FINE_CUES = frozenset("fine ok okay good allowed welcome all mind actually".split())
_TO_YOU = frozenset("you you're feel".split())
_SO = frozenset("so hence therefore stuck limited tied rather hate dislike stand can't".split())
_PRODUCT_CUES = frozenset("must should shall may can cannot can't need needs has have".split())


@lru_cache(maxsize=256)
def _words(sentence: str) -> frozenset[str]:
    pattern = _ASCII_WORDS if sentence.isascii() else _WORDS  # the same, in half the time
    return frozenset(pattern.findall(sentence.lower()))


def _is_english(words: frozenset[str]) -> bool:
    return len(words & _FUNCTION_WORDS) > 2


def states_convention(sentence: str) -> bool:
    """True if the sentence says how things are done by whoever works here, without a word that commands it.

    Args:
        sentence: of a user, without a question mark at its end.
    """
    words = _words(sentence)
    if len(sentence) > LONGEST or _ONCE.begins(sentence):
        return False
    if not sentence.isascii() and _EAST.found_in(sentence):
        return not _TOLD.found_in(sentence)
    # the cues are English words, so a sentence with other letters goes to the dear patterns unasked
    has_cue = not sentence.isascii() or not words.isdisjoint(_CUES)
    if not words.isdisjoint(_TO_YOU) and _FREEDOM.begins(sentence):
        return True
    if _ORDERS.begins(sentence) or (has_cue and _ENDS.found_in(sentence)):
        return True
    told = _FACTS.begins(sentence) or (not words.isdisjoint(_SO) and _CIRCUMSTANCE.begins(sentence))
    told = told or (has_cue and (_WRITTEN_IN.found_in(sentence) or _is_enough(sentence)))
    # an English sentence has words such as "an" and "der" by chance, and the patterns abroad are the dearest
    told = told or (not _is_english(words) and _ABROAD.found_in(sentence))
    return told and not _TOLD.found_in(sentence)


def _is_enough(sentence: str) -> bool:
    return _ANYWHERE.found_in(sentence) and not _OF_ONESELF.begins(sentence)


def spelled_out(sentence: str) -> str:
    """The sentence with what people abbreviate in a chat written out, which the patterns need not know."""
    if not _SHORT.found_in(sentence):
        return sentence
    return _SHORT.compiled.sub(lambda found: _LONG[found[0].lower()], sentence)


def outright(sentence: str) -> str:
    """What a polite question or wish asks for, as an order; the sentence itself where it is none.

    A question that is none of these keeps its mark.
    """
    # "use tabs, ok?" is an order, whatever its mark says
    if sentence.endswith(("?", "？")) and (tag := _TAG_QUESTION.search(sentence)) is not None:
        return sentence[: tag.start()]
    polite = _POLITE.match(sentence) if _POLITE.begins(sentence) else None
    return sentence[polite.end() :].rstrip(" ?？") if polite else sentence


def asks_for_good(order: str) -> bool:
    """True if what a polite question asks for holds for good: "stop adding comments", not "sort the branches"."""
    return _ORDERS.begins(order) or _ABROAD.found_in(order) or _EAST.found_in(order)


def allows_again(sentence: str) -> bool:
    """True if the sentence says that something is fine after all: it ends what forbids that, and nothing else."""
    if sentence.isascii() and (words := _words(sentence)).isdisjoint(_FINE_CUES) and _is_english(words):
        return False
    return _FINE.found_in(sentence)


def forbids(rule: str) -> bool:
    """True if the rule says that there is to be none of something: "no emojis pls"."""
    return _ENDS.found_in(rule) or _NONE_OF.found_in(rule)


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
        # "e.g. this" and "wait ... what" go on in lower case as well
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


def is_of_a_product(sentence: str) -> bool:
    """True if a sentence says what a product is to do or what a program complains of, and nothing of how to work."""
    if _COMPLAINS.match(sentence) is not None or _HAS_TO_BE_THERE.search(sentence) is not None:
        return True
    if sentence.isascii() and (words := _words(sentence)).isdisjoint(_PRODUCT_CUES) and _is_english(words):
        return False
    return _PRODUCT.found_in(sentence)


_HAS_TO_BE_THERE = LazyPattern(
    r"\bthere (?:should|must|has to|needs to) be an? (?!test|review|commit|comment|branch|changelog|docstring)",
    re.IGNORECASE,
)
"""What an outcome is to show: "for each step there should be a check mark"."""

_ELEMENT = LazyPattern(
    r"</?[a-z]{2,20}(?:[_-][a-z]{1,20}){1,4}>|^[ \t]*<(?:task|rules?|instructions?|context|constraints?|goal|role|output|notes?)>"
    r"|</(?:task|rules?|instructions?|context|constraints?|goal|role|output|notes?)>",
    re.MULTILINE,
)
"""Around parts of an order, as prompts of programs have them."""

_REASON = LazyPattern(
    r"(?:rationale|reason(?:ing)?|why|background|motivation|begründung|grund|hintergrund|raison|pourquoi|razón|motivo|contexto|motivazione|perché|причина|理由|原因|背景|이유|배경) ?[:：]",
    re.IGNORECASE,
)
"""Begins what explains a rule: it holds for nothing by itself."""

_TITLE = LazyPattern(r"^ {0,3}#{1,4}[ \t]+\S", re.MULTILINE)
_DOCUMENT = 3
"""Titles from which on a message is a document: a report, a plan or comments that somebody hands on."""

_KEEPS = LazyPattern(r"keep it\b", re.IGNORECASE)
"""Begins an item of a task: it is what the item before is about, not how to answer."""


def in_parts(order: str) -> str:
    """``order`` with a break for each tag around a part of it."""
    return _ELEMENT.sub("\n\n", order)


def is_document(text: str) -> bool:
    """True if ``text`` has so many titles that it is a document."""
    return len(_TITLE.findall(text)) >= _DOCUMENT


def explains(sentence: str) -> bool:
    """True if a sentence says why a rule is one: it holds for nothing by itself."""
    return _REASON.begins(sentence)


def keeps_it(item: str) -> bool:
    """True if an item of a task says how "it" is to stay: what the item before is about, not how to answer."""
    return _KEEPS.begins(item)
