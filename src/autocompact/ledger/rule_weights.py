"""How likely a sentence of a user is a standing instruction: a logistic model of its cues.

Learned by `benchmarks/learn_rules.py`. A line of `LEARNED` is a weight and the cue or the two cues that it holds for, which
must be there; the one without a cue is what the log-odds begin with. Read a weight as: how much these cues raise the log-odds.
"""

from __future__ import annotations

from functools import cache

from autocompact.ledger.cues import BIT, bits

LEARNED = """
-1.81
-0.63 ,be
-0.13 ,i
-0.69 ,imper
-0.60 ,imper ^told
0.28 ,none
-0.48 ,question
0.37 ,style
-0.39 ,this
-0.30 ,told
0.36 ^always
-0.79 ^be
-0.54 ^before
0.87 ^cond ,imper
0.44 ^cond ,told
-0.56 ^create
-0.57 ^create colon
0.71 ^create only
0.58 ^dont
0.55 ^dont ^imper
0.54 ^dont prohibits
0.31 ^every
1.21 ^forbid
1.02 ^fromnow
-0.28 ^i
0.82 ^i trait
-0.21 ^imper
-0.88 ^imper ,told
-0.61 ^imper ^work
-0.56 ^imper oblige
0.48 ^imper scope
-0.34 ^imper that
-0.67 ^lets
0.72 ^limit
0.46 ^none
0.74 ^none european
-0.41 ^oblige
-0.40 ^permit
0.32 ^plural
0.80 ^policy
0.54 ^prefer
-0.73 ^question
0.94 ^style
0.56 ^style eastern
-0.73 ^thanks
-0.24 ^the
-0.65 ^the always
0.36 ^the comma
1.94 ^the date
-0.50 ^the every
0.60 ^the oblige
-0.67 ^the past
0.30 ^the plural
0.51 ^the so
0.38 ^the told
-0.79 ^this
0.53 ^this ,imper
0.39 ^told
-0.55 ^told code
0.60 ^unit
-0.00 ^we
-0.53 ^we ,told
0.57 ^we oblige
0.84 ^we taken
0.93 ^you permit
-0.31 a
0.71 a ,imper
1.14 a ^cond
-0.72 a ^create
0.59 a ^we
-0.35 a be
-0.42 a limit
-0.68 a me
-0.34 a number
-0.43 a plain
0.53 a prohibits
-0.19 a that
-0.26 a this
-0.34 a you
-0.08 always
-0.26 always european
-0.25 always prohibits
-0.41 always that
-0.43 always unit
1.11 ask
-0.39 ask ,imper
-1.39 asks
-0.78 asks european
0.48 be ,dont
0.40 be ,imper
0.84 be ^the
0.57 be colon
0.10 be comma
-0.48 be cond
0.28 be create
0.89 be date
0.62 be number
0.48 be permit
-0.37 be so
-0.36 be style
0.44 be taken
-0.33 be that
0.49 be want
0.72 be we
-0.74 be you
0.44 before ,work
1.18 before ask
0.39 before colon
-0.68 cite
-0.87 cite european
-0.94 cite oblige
-1.11 code
-0.27 colon
-0.72 colon number
0.10 comma
0.26 comma ,every
-0.26 comma ,i
0.35 comma ,imper
0.56 comma ^i
0.36 comma cite
-0.45 comma colon
0.14 comma european
0.36 comma i
-0.45 comma long
0.17 comma number
0.39 comma oblige
-0.54 comma permit
-0.68 comma plain
1.03 comma so
0.19 comma style
-0.57 comma taken
-0.73 comma thanks
0.40 comma that
0.23 comma this
-0.17 comma told
0.42 cond ,imper
0.57 cond ,oblige
0.41 cond ,told
0.62 cond ^imper
1.01 cond ^we
0.85 cond before
0.39 cond colon
-0.45 cond none
0.46 cond number
0.36 cond oblige
-0.78 cond passive
-0.78 cond prohibits
0.42 cond style
0.48 cond you
-0.31 create
0.70 create ^cond
-0.53 create ^imper
-0.61 create ^told
-0.77 create eastern
0.56 create forbid
-0.58 create limit
-0.49 create none
-0.57 create number
0.58 create only
0.66 create past
-0.63 create permit
-0.83 day
0.61 day cond
-0.46 day european
0.35 dont
-0.56 dont ,the
-0.54 dont ^create
0.23 dont ^i
-0.55 dont always
-0.36 dont before
-0.47 dont cite
-0.53 dont cond
-0.62 dont create
0.36 dont european
0.31 dont i
0.61 dont kinds
0.52 dont me
-0.50 dont none
-0.47 dont oblige
0.25 dont prohibits
-0.38 dont that
-0.43 dont third
-0.79 english
-0.61 english ,cond
-0.48 english ,i
0.36 english ,none
-0.57 english ,permit
-0.58 english ^be
0.29 english ^every
0.69 english ^fail
-0.16 english ^i
-0.13 english ^imper
-0.22 english ^me
-0.31 english ^question
0.86 english ^told
0.03 english a
-0.57 english asks
-0.12 english comma
-0.48 english cond
0.35 english create
0.54 english forbid
0.87 english fromnow
-0.42 english i
0.58 english limit
-0.50 english me
-0.40 english muse
-0.39 english number
-0.23 english oblige
-0.32 english once
0.29 english only
-0.31 english past
0.69 english plain
-0.45 english plural
0.57 english policy
0.97 english prohibits
-0.28 english question
-0.11 english so
0.55 english taste
-0.16 english that
-0.21 english this
0.15 english unit
0.44 english want
-0.37 english we
0.03 european
0.35 every
-0.16 every ,imper
-0.86 every ^create
0.54 every ^told
-0.40 every asks
0.41 every before
0.44 every create
0.73 every forbid
-0.50 every long
0.53 every oblige
0.78 every scope
0.61 every you
-0.24 fail
-0.47 fail european
0.73 forbid
-0.48 forbid eastern
0.91 fromnow
0.63 fromnow day
-0.51 i
0.65 i ^imper
-0.38 i long
-0.57 i oblige
-0.54 i past
1.54 i please
0.34 i so
0.31 i style
0.91 i trait
1.00 i you
-0.12 imper
-0.57 imper ,permit
-0.47 imper ,we
0.82 imper ^always
0.28 imper ^every
-0.62 imper ^lets
-0.76 imper ^none
0.55 imper ^told
0.27 imper ^we
-0.35 imper a
0.72 imper always
-0.33 imper asks
0.12 imper be
-0.76 imper code
0.58 imper cond
0.10 imper dont
0.21 imper eastern
-0.09 imper english
0.60 imper instead
-0.72 imper lets
-0.85 imper long
0.12 imper me
-0.47 imper muse
0.37 imper past
1.33 imper plain
0.32 imper policy
0.48 imper prefer
0.15 imper short
-0.29 imper so
0.23 imper style
0.48 imper taste
-0.34 imper this
0.41 imper you
0.70 instead
-0.94 instead limit
0.84 kinds
-0.83 kinds limit
-0.81 lets
0.67 limit
-1.02 long
1.03 me ^imper
0.63 me ^you
0.84 me before
-0.50 me create
0.08 me eastern
0.19 me european
0.63 me forbid
0.28 me style
0.37 me this
0.32 me you
-0.58 muse
0.58 none
-0.71 none ^imper
-0.51 none ^told
0.65 none ^we
0.61 none european
-0.57 none only
0.60 none that
-0.59 noun
-0.66 noun ^style
0.69 noun ^work
0.69 noun be
-0.57 noun code
-0.59 noun colon
0.09 noun comma
0.49 noun create
0.32 noun dont
-0.41 noun english
0.23 noun european
-0.48 noun every
1.01 noun here
1.35 noun kinds
0.30 noun me
0.19 noun none
0.33 noun number
-1.15 noun oblige
0.58 noun passive
0.46 noun permit
-0.58 noun third
0.64 noun told
0.55 noun we
-0.72 number forbid
0.64 number limit
0.53 oblige ,work
2.13 oblige ^every
0.76 oblige date
-0.79 oblige instead
-0.90 once
0.27 only
0.69 only ^you
-0.63 only oblige
-0.47 only permit
-1.00 past
-0.62 past date
-0.41 past eastern
-0.42 past none
1.51 plain
-0.44 plain ,imper
-0.46 plain create
-0.49 plain dont
-0.31 plain eastern
0.58 plain kinds
-0.57 plain prohibits
-0.91 plain thanks
0.75 please
0.86 please ^style
-0.57 please create
0.88 please none
-0.99 please this
0.47 plural
-0.54 plural ^every
0.33 plural ^we
0.48 plural always
-0.53 plural before
0.30 plural european
-0.32 plural every
0.76 plural passive
0.63 plural scope
-0.65 plural unit
0.41 policy
-0.64 polite ^imper
-0.54 polite be
-0.44 polite english
0.65 polite european
0.70 polite limit
0.57 polite none
0.52 polite short
1.00 prefer
1.85 prefer instead
-0.37 product
-0.62 product ,imper
0.93 product ^every
-0.89 product ^imper
-0.36 product ^the
-0.69 product cond
-0.67 product eastern
-0.37 product number
0.79 product we
1.17 prohibits
-0.47 prohibits number
-0.70 question
-0.22 question asks
0.50 question comma
-0.55 question eastern
-0.23 question every
-0.51 question me
-0.74 quote
-0.66 quoted
0.47 scope
-0.39 short
-0.67 short ,imper
-0.77 short ^every
0.91 short ^forbid
0.31 short ^none
0.52 short ^we
-0.67 short before
-0.81 short colon
1.85 short date
-0.86 short eastern
-0.07 short english
-0.31 short european
0.66 short instead
0.78 short limit
-0.54 short noun
0.41 short number
0.73 short oblige
1.30 short only
0.88 short plain
0.47 short please
0.83 short policy
0.25 short prohibits
-0.73 short quote
1.00 short standard
1.71 short style
1.08 short taken
-0.78 short this
0.26 short told
0.38 short we
0.70 so ,imper
0.76 so ,none
0.44 so ^i
0.44 so cond
0.45 so number
-0.48 so past
0.76 so please
1.86 standard
-0.72 standard a
0.50 standard be
-0.49 standard dont
0.76 standard european
-0.98 standard oblige
0.70 standard unit
1.43 style
0.71 style ,the
-0.52 style ,told
0.63 style ^we
1.06 style ^work
0.24 style eastern
0.52 style none
-0.68 style number
0.46 style taste
-0.43 style this
-0.52 style you
0.48 taken
1.25 taken number
0.18 taste
-0.84 thanks
-0.15 that
-0.55 the
-0.36 the ,imper
0.77 the ,you
0.46 the ^every
0.57 the ^none
-0.51 the ^this
-0.41 the asks
-0.19 the before
-0.50 the cite
-0.55 the create
0.72 the date
-0.42 the day
-0.11 the english
-0.28 the european
-0.81 the fail
0.55 the kinds
-0.51 the long
-0.44 the muse
0.32 the none
-0.47 the noun
0.27 the number
0.41 the oblige
0.57 the passive
-0.77 the past
-0.37 the please
-0.72 the polite
-0.42 the product
0.60 the prohibits
-0.28 the question
0.98 the scope
-0.32 the short
0.20 the so
0.25 the style
0.86 the taken
0.20 the told
0.32 the unit
0.09 the work
0.29 the you
-0.39 third
0.77 third ^imper
-0.37 this
0.51 this ,dont
0.83 this ,imper
-0.40 this ^imper
-0.20 this asks
0.79 this colon
0.71 this here
-0.37 this long
-0.30 this muse
0.26 this number
-0.17 this oblige
-0.04 this that
0.52 told
-0.44 told ,the
-0.55 told ,this
0.68 told ^dont
0.63 told ^we
0.63 told ^work
-0.50 told asks
-0.45 told code
-0.57 told colon
0.25 told cond
-0.32 told create
-0.52 told eastern
0.13 told european
0.07 told every
0.52 told kinds
-0.43 told long
-0.38 told muse
-0.35 told none
0.19 told number
-0.24 told oblige
-0.01 told that
0.93 told unit
1.66 trait
0.00 unit
0.54 unit date
0.48 unit limit
-0.54 unit only
-0.59 unit please
0.23 want
0.46 want ^i
1.07 want dont
-0.86 want me
-0.55 we ,dont
-0.48 we ,the
0.49 we ^plural
-0.74 we always
-0.46 we asks
-0.18 we comma
0.54 we here
-0.64 we muse
0.51 we number
-0.30 we past
-0.51 we permit
-0.39 we please
0.64 we quote
0.76 we scope
-0.15 we so
1.47 we told
-0.43 will
0.59 work
-0.68 work ,cond
-0.85 work ,imper
0.81 work ^always
0.26 work ^every
0.49 work ^none
-0.60 work ^the
0.41 work ^we
-0.30 work asks
0.25 work be
-0.48 work code
0.53 work colon
0.49 work comma
0.25 work dont
0.10 work english
0.64 work european
-0.83 work fail
0.80 work forbid
0.15 work imper
0.87 work instead
-0.66 work long
-0.31 work muse
0.64 work none
0.33 work noun
-0.83 work number
0.78 work oblige
0.82 work only
-0.22 work past
0.82 work plain
-0.51 work plural
0.74 work prefer
0.23 work prohibits
-0.62 work question
-0.44 work short
-0.35 work so
0.43 work style
0.43 work third
-0.16 work this
0.64 work told
0.37 work unit
0.41 work want
0.37 work you
0.18 you
-0.72 you kinds
0.83 you permit
"""


@cache
def _table() -> tuple[float, tuple[tuple[int, float, tuple[tuple[int, float], ...]], ...]]:
    """What the log-odds begin with, and of each cue its weight, and those of its pairs with others."""
    alone: dict[str, float] = {}
    pairs: dict[str, list[tuple[int, float]]] = {}
    for line in LEARNED.strip().splitlines():
        weight, *names = line.split()
        first, *others = names or ("",)
        if others:
            pairs.setdefault(first, []).append((bits(others), float(weight)))
        else:
            alone[first] = float(weight)
    start = alone.pop("")
    firsts = dict.fromkeys((*alone, *pairs))
    return start, tuple((BIT[name], alone.get(name, 0.0), tuple(pairs.get(name, ()))) for name in firsts)


def odds(seen: int) -> float:
    """The log-odds that a sentence with these cues is a standing instruction; beyond 0 it is one more likely than not."""
    total, table = _table()
    for bit, weight, pairs in table:
        if seen & bit:
            total += weight
            for others, more in pairs:
                if seen & others:
                    total += more
    return total
