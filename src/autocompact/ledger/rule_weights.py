"""How likely a sentence of a user is a standing instruction: a logistic model of its cues.

Learned by `benchmarks/learn_rules.py`. A line of `LEARNED` is a weight and the cue or the two cues that it holds for, which
must be there; the one without a cue is what the log-odds begin with. Read a weight as: how much these cues raise the log-odds.
"""

from __future__ import annotations

from functools import cache

from autocompact.ledger.cues import BIT, bits

LEARNED = """
-1.81
-0.67 ,be
-0.11 ,i
-0.67 ,imper
-0.58 ,imper ^told
0.25 ,none
-0.51 ,question
0.49 ,style
-0.33 ,this
-0.26 ,told
0.38 ^always
-0.78 ^be
-0.58 ^before
0.89 ^cond ,imper
-0.55 ^create
-0.50 ^create colon
0.80 ^create only
0.56 ^dont
0.54 ^dont ^imper
0.52 ^dont prohibits
0.28 ^every
1.21 ^forbid
1.03 ^fromnow
-0.27 ^i
0.82 ^i trait
-0.20 ^imper
-0.73 ^imper ,told
-0.69 ^imper ^work
-0.49 ^imper oblige
0.69 ^imper scope
-0.32 ^imper that
-0.67 ^lets
0.72 ^limit
0.47 ^none
0.75 ^none european
-0.39 ^oblige
-0.40 ^permit
0.31 ^plural
0.83 ^policy
0.55 ^prefer
-0.73 ^question
0.94 ^style
0.65 ^style eastern
-0.71 ^thanks
-0.28 ^the
-0.63 ^the always
0.42 ^the comma
1.94 ^the date
-0.52 ^the every
0.26 ^the number
0.58 ^the oblige
-0.73 ^the past
0.34 ^the plural
0.62 ^the so
0.33 ^the told
-0.80 ^this
0.54 ^this ,imper
0.40 ^told
-0.56 ^told code
0.61 ^unit
-0.03 ^we
-0.55 ^we ,told
0.55 ^we oblige
0.97 ^we taken
0.27 ^work
0.93 ^you permit
-0.33 a
0.66 a ,imper
1.17 a ^cond
-0.63 a ^create
0.62 a ^we
-0.32 a be
-0.41 a limit
-0.69 a me
-0.35 a number
-0.46 a plain
0.52 a prohibits
-0.16 a that
-0.24 a this
-0.40 a you
-0.10 always
-0.26 always european
-0.25 always prohibits
-0.39 always that
-0.38 always unit
1.10 ask
-0.45 ask ,imper
-1.39 asks
-0.76 asks european
0.47 be ,dont
0.37 be ,imper
0.83 be ^the
0.57 be colon
0.15 be comma
-0.48 be cond
0.31 be create
0.84 be date
0.60 be number
0.45 be permit
-0.32 be so
-0.38 be style
0.59 be taken
-0.35 be that
0.51 be want
0.69 be we
-0.76 be you
0.48 before ,work
1.15 before ask
0.43 before colon
-0.67 cite
-0.85 cite european
-0.90 cite oblige
-1.11 code
-0.29 colon
-0.66 colon number
0.13 comma
0.22 comma ,every
-0.25 comma ,i
0.31 comma ,imper
0.57 comma ^i
0.39 comma cite
-0.37 comma colon
0.24 comma european
0.41 comma i
-0.43 comma long
0.19 comma number
0.40 comma oblige
-0.53 comma permit
-0.67 comma plain
1.07 comma so
-0.43 comma taken
-0.75 comma thanks
0.41 comma that
0.25 comma this
-0.17 comma told
0.39 cond ,imper
0.59 cond ,oblige
0.52 cond ,told
0.59 cond ^imper
1.02 cond ^we
0.82 cond before
0.39 cond colon
-0.47 cond none
0.46 cond number
0.34 cond oblige
-0.80 cond passive
-0.77 cond prohibits
0.40 cond style
0.60 cond you
-0.33 create
0.75 create ^cond
-0.61 create ^imper
-0.69 create ^told
-0.74 create eastern
0.58 create forbid
-0.55 create limit
-0.50 create none
-0.51 create number
0.62 create only
0.68 create past
-0.63 create permit
-0.77 day
0.70 day cond
-0.47 day european
-0.52 day unit
0.35 dont
-0.56 dont ,the
-0.50 dont ^create
0.22 dont ^i
-0.54 dont always
-0.37 dont before
-0.46 dont cite
-0.55 dont cond
-0.60 dont create
0.39 dont european
0.32 dont i
0.66 dont kinds
0.53 dont me
-0.57 dont none
-0.44 dont oblige
0.25 dont prohibits
-0.38 dont that
-0.44 dont third
-0.81 english
-0.60 english ,cond
-0.47 english ,i
0.34 english ,none
-0.57 english ,permit
-0.58 english ^be
0.27 english ^every
0.70 english ^fail
-0.15 english ^i
-0.16 english ^imper
-0.21 english ^me
-0.31 english ^question
0.83 english ^told
0.01 english a
-0.58 english asks
-0.12 english comma
-0.48 english cond
0.34 english create
0.53 english forbid
0.86 english fromnow
-0.41 english i
0.57 english limit
-0.53 english me
-0.40 english muse
-0.39 english number
-0.23 english oblige
-0.34 english once
0.29 english only
-0.29 english past
0.68 english plain
-0.38 english plural
0.57 english policy
0.98 english prohibits
-0.26 english question
-0.14 english so
0.10 english standard
0.55 english taste
-0.15 english that
-0.19 english this
0.12 english unit
0.44 english want
-0.39 english we
-0.00 european
0.37 every
-0.86 every ^create
0.52 every ^told
-0.43 every asks
0.47 every before
0.46 every create
0.67 every forbid
-0.55 every long
0.50 every oblige
0.75 every scope
0.30 every style
-0.17 every this
0.69 every you
-0.21 fail
-0.47 fail european
0.71 forbid
-0.48 forbid eastern
0.92 fromnow
0.62 fromnow day
-0.47 i
0.69 i ^imper
-0.32 i every
-0.38 i long
-0.50 i oblige
-0.53 i past
1.47 i please
0.37 i so
0.27 i style
0.89 i trait
0.96 i you
-0.11 imper
-0.57 imper ,permit
-0.45 imper ,we
0.83 imper ^always
0.33 imper ^every
-0.63 imper ^lets
-0.78 imper ^none
0.55 imper ^told
0.25 imper ^we
-0.34 imper a
0.71 imper always
-0.35 imper asks
0.16 imper be
-0.74 imper code
0.59 imper cond
0.10 imper dont
0.24 imper eastern
-0.08 imper english
0.63 imper instead
-0.78 imper lets
-0.86 imper long
0.14 imper me
-0.48 imper muse
0.36 imper past
1.35 imper plain
0.33 imper policy
0.46 imper prefer
-0.30 imper so
0.22 imper style
0.49 imper taste
-0.33 imper this
0.35 imper you
0.73 instead
-0.93 instead limit
0.86 kinds
-0.77 kinds limit
-0.87 lets
0.66 limit
-1.03 long
1.06 me ^imper
0.68 me ^you
0.81 me before
-0.51 me create
0.21 me european
0.67 me forbid
0.37 me none
0.24 me style
0.32 me this
0.21 me you
-0.58 muse
0.54 none
-0.77 none ^imper
0.64 none ^we
0.64 none european
-0.54 none only
0.55 none that
-0.57 noun
-0.60 noun ^style
0.42 noun ^work
0.63 noun be
-0.57 noun code
-0.64 noun colon
0.50 noun create
0.27 noun dont
-0.38 noun english
0.13 noun european
0.99 noun here
1.27 noun kinds
0.26 noun me
0.34 noun number
-1.22 noun oblige
0.63 noun passive
0.43 noun permit
-0.51 noun third
0.67 noun told
0.43 noun we
-0.75 number forbid
0.61 number limit
0.57 oblige ,work
2.15 oblige ^every
0.52 oblige ^work
0.77 oblige date
-0.81 oblige instead
-0.90 once
0.28 only
0.69 only ^you
-0.62 only oblige
-0.49 only permit
-1.06 past
-0.60 past date
1.51 plain
-0.45 plain ,imper
-0.44 plain create
-0.46 plain dont
-0.28 plain eastern
0.62 plain kinds
-0.57 plain prohibits
-0.95 plain thanks
0.74 please
0.84 please ^style
-0.50 please create
0.93 please none
-0.98 please this
0.52 plural
-0.56 plural ^every
0.32 plural ^we
0.50 plural always
-0.58 plural before
-0.24 plural comma
0.30 plural european
-0.36 plural every
0.71 plural passive
0.63 plural scope
-0.65 plural unit
0.39 policy
-0.62 polite ^imper
-0.54 polite be
-0.43 polite english
0.66 polite european
0.71 polite limit
0.57 polite none
0.55 polite short
0.97 prefer
1.87 prefer instead
-0.33 product
-0.59 product ,imper
0.87 product ^every
-0.92 product ^imper
-0.42 product ^the
-0.68 product cond
-0.70 product eastern
-0.41 product number
0.80 product we
1.18 prohibits
-0.47 prohibits number
-0.67 question
-0.23 question asks
0.51 question comma
-0.54 question eastern
-0.21 question every
-0.52 question me
-0.70 quote
-0.68 quoted
0.41 scope
-0.40 short
-0.68 short ,imper
-0.75 short ^every
0.98 short ^forbid
0.30 short ^none
0.49 short ^we
0.31 short be
-0.63 short before
-0.75 short colon
1.80 short date
-0.87 short eastern
-0.07 short english
-0.32 short european
0.68 short instead
0.77 short limit
-0.52 short noun
0.45 short number
0.75 short oblige
1.35 short only
0.92 short plain
0.50 short please
0.85 short policy
0.29 short prohibits
-0.64 short quote
0.99 short standard
1.67 short style
1.20 short taken
-0.75 short this
0.31 short told
0.37 short we
0.70 so ,imper
0.77 so ,none
0.42 so ^i
0.39 so cond
0.43 so number
-0.51 so past
0.75 so please
1.84 standard
-0.69 standard a
0.46 standard be
-0.51 standard dont
0.79 standard european
-0.94 standard oblige
0.70 standard unit
1.50 style
0.83 style ,the
-0.41 style ,told
0.50 style ^we
0.89 style ^work
0.46 style none
-0.69 style number
-0.53 style this
1.39 taken number
0.24 taste
-0.84 thanks
-0.17 that
-0.53 the
-0.28 the ,imper
0.78 the ,you
0.44 the ^every
0.58 the ^none
-0.52 the ^this
-0.41 the asks
-0.07 the be
-0.53 the cite
-0.12 the comma
-0.56 the create
0.70 the date
-0.46 the day
-0.10 the english
-0.29 the european
-0.77 the fail
-0.14 the i
0.42 the kinds
-0.54 the long
-0.45 the muse
0.36 the none
-0.31 the noun
0.20 the number
0.40 the oblige
0.54 the passive
-0.79 the past
-0.42 the please
-0.75 the polite
-0.34 the product
0.58 the prohibits
-0.27 the question
1.08 the scope
-0.32 the short
0.28 the style
1.04 the taken
0.24 the told
0.36 the unit
0.16 the work
0.24 the you
-0.36 third
0.79 third ^imper
-0.36 this
0.47 this ,dont
0.76 this ,imper
-0.38 this ^imper
0.83 this colon
0.70 this here
-0.36 this long
-0.29 this muse
0.23 this number
-0.17 this oblige
-0.03 this that
0.54 told
-0.31 told ,the
-0.49 told ,this
-0.33 told ^create
0.69 told ^dont
0.66 told ^we
0.49 told ^work
-0.51 told asks
-0.52 told code
-0.58 told colon
0.24 told cond
-0.28 told create
-0.52 told eastern
0.14 told every
0.43 told kinds
-0.45 told long
-0.41 told muse
-0.35 told none
0.17 told number
-0.29 told oblige
-0.03 told that
0.96 told unit
1.68 trait
0.02 unit
0.56 unit date
0.49 unit limit
-0.51 unit only
-0.54 unit please
0.21 want
0.45 want ^i
1.09 want dont
-0.85 want me
-0.55 we ,dont
-0.49 we ,the
0.46 we ^plural
-0.75 we always
-0.46 we asks
-0.18 we comma
0.20 we european
0.60 we here
-0.65 we muse
0.52 we number
-0.29 we past
-0.50 we permit
-0.40 we please
0.63 we quote
0.76 we scope
1.45 we told
0.49 we you
-0.43 will
0.59 work
-0.64 work ,cond
-0.78 work ,imper
-0.68 work ,standard
0.78 work ^always
0.26 work ^every
0.50 work ^none
-0.61 work ^the
0.38 work ^we
-0.33 work asks
0.23 work be
-0.50 work code
0.44 work colon
0.48 work comma
0.25 work dont
0.10 work english
0.62 work european
-0.86 work fail
0.75 work forbid
0.13 work imper
0.85 work instead
-0.71 work long
-0.30 work muse
0.61 work none
0.48 work noun
-0.87 work number
0.74 work oblige
0.81 work only
-0.28 work past
0.81 work plain
-0.52 work plural
0.70 work prefer
0.25 work prohibits
-0.63 work question
-0.45 work short
-0.33 work so
0.69 work style
0.45 work third
-0.17 work this
0.62 work told
0.33 work unit
0.44 work want
0.45 work you
0.12 you
-0.70 you kinds
0.89 you permit
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
