"""Words that say little: what a note leaves out, and what makes a statement no more specific.

`DROPPED` are articles, auxiliaries and fillers by language; a note without them can still be read. `COMMON` are terms of
everyday verbs, adjectives and abstract nouns, which occur in talk about anything: a statement of nothing else has no
information that a reader could ask for.
"""

from __future__ import annotations

from collections.abc import Mapping

from autocompact.core.terms import terms

DROPPED: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        "a an the i am i'm i've i'd i'll is are been being be do does did that's it's there's really very quite just actually"
        " basically literally definitely certainly probably possibly maybe perhaps absolutely totally completely simply truly"
        " honestly somewhat rather pretty fairly extremely incredibly especially particularly specifically essentially generally"
        " usually typically often recently lately currently already also too even so well ok okay oh hey hi hello yes yeah"
        " um uh however therefore anyway then thus hence still finally lastly overall though although such some any"
        " my our this these those that which who it its itself myself great amazing wonderful awesome nice lovely fantastic"
        " incredible beautiful constantly deeply highly further certain various kind sort bit lot".split()
    ),
    "de": frozenset(
        "der die das den dem des ein eine einen einem einer eines ich bin ist sind sei bist habe hab hat haben wurde wurden"
        " wirklich sehr ganz eigentlich eben halt mal ja doch also auch schon noch so sogar ziemlich vielleicht"
        " wahrscheinlich natürlich übrigens einfach gerade jedenfalls irgendwie etwas es mein meine meinen meinem meiner meines"
        " hallo dann dass da daß dabei dazu".split()
    ),
    "fr": frozenset(
        "le la les un une des du de l' je j' suis est sont ai as a ont été être très vraiment assez plutôt bien donc alors"
        " aussi encore déjà même juste simplement peut-être probablement évidemment enfin voilà ça c'est c' ce cette ces cet"
        " mon ma mes que qu' qui en y bonjour salut".split()
    ),
    "es": frozenset(
        "el la los las un una unos unas lo yo soy es son estoy está están he ha han sido muy realmente bastante pues entonces"
        " también aún todavía ya incluso solo simplemente quizás quizá tal vez probablemente bueno así que mi mis este esta"
        " estos estas ese esa eso hola se me de del".split()
    ),
}  # fmt: skip
"""By language, in lower case. Negations, modal verbs, "was" and prepositions stay: without them a note says something else."""

JOINING: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        "not no never nor neither none nobody nothing nowhere hardly rarely barely seldom scarcely except unable unlikely fail fails failed quit"
        " refuse refuses refused stop stopped instead few ever without would could might may should must cannot if unless before after until till since between under over"
        " up down out off in on at for from by with per than and or but against during through across he she they you him her them his hers"
        " their your who whose only almost nearly to into as near was were had".split()
    ),
    "de": frozenset(
        "nicht nie niemals niemand nirgends kein keine keinen keinem keiner nichts kaum selten außer statt aufgehört unfähig ohne in im ins an am ans auf aus bei beim mit von vom für nach vor seit bis um"
        " zu zum zur über unter zwischen gegen durch und oder aber er sie ihr ihm ihn ihnen sein seine seinen ihre ihren du dir dein deine wenn"
        " falls als statt nur fast soll sollte könnte würde würden möchte will muss müsste darf kann".split()
    ),
    "fr": frozenset(
        "ne n' pas jamais aucun aucune rien personne nulle guère rarement sauf arrêté refuse refusé incapable sans à au aux dans en sur sous avec pour par chez vers depuis avant après entre contre et ou mais si"
        " il elle ils elles lui leur leurs son sa ses tu te ton ta tes vous votre vos seulement presque pourrait voudrais devrait dois peux veux".split()
    ),
    "es": frozenset(
        "no nunca jamás ningún ninguna nada nadie tampoco apenas raramente excepto salvo dejé incapaz sin a al en con por para desde hasta antes después entre contra y o pero si él ella ellos ellas le les"
        " su sus tú te tu tus usted solamente casi podría quisiera debería debo puedo quiero".split()
    ),
}  # fmt: skip
"""By language, in lower case: words that say how others belong together, of whom, and whether it is so. A note keeps them."""

NUMBER_WORDS: frozenset[str] = frozenset(
    (
        "two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty sixty ninety dozen hundred"
        " thousand million half twice third monday tuesday wednesday thursday friday saturday sunday january february march april june"
        " july august september october november december zwei drei vier fünf sechs sieben acht neun zehn montag dienstag mittwoch donnerstag"
        " freitag samstag sonntag deux trois quatre cinq sept huit neuf dix lundi mardi mercredi jeudi vendredi samedi dimanche dos tres"
        " cuatro cinco seis siete ocho nueve diez lunes martes miércoles jueves viernes sábado domingo"
    ).split()
)
"""Numbers, weekdays and months, in lower case."""

THINGS: frozenset[str] = frozenset(
    "wedding weddings building buildings evening evenings painting paintings clothing ceiling string spring ring rings king earring swing swimming"
    " climbing hiking sailing knitting cycling dancing fishing skiing camping running bed beds red shed seed seeds breed city cities apartment"
    " apartments cement basement station vacation auction lotion medication medications vaccination operation table tables vegetable vegetables"
    " cable cables fence dance ambulance insurance france olive olives archive business businesses fitness garment instrument instruments"
    " document documents monument tournament drive five wilderness harness university charity identity residence audience conference"
    " conferences science sciences".split()
)
"""Nouns of things, people and doings that end like a quality, in lower case."""

_EVERYDAY = (
    "one ones ability able absolute accept access account achieve act active actual adapt add additional adjust admit advance advantage"
    " advice affect afraid age ago agree ahead aim allow alone along alternative always amaze amount annoy answer anxious anyone"
    " anything anyway apart appeal appear appreciate approach appropriate area arise arrange art ask aspect assist assume assure"
    " attempt attention attitude avail available average avoid aware away awesome awful back bad balance base basic basis beautiful"
    " become begin behavior behind believe benefit best better beyond big bit blend boost bother break brief brilliant bring broad"
    " build busy call calm capable care careful carry case catch cause celebrate central certain challenge chance change character"
    " charge check choice choose circumstance claim clear close collect combine come comfort comfortable commit common communicate"
    " community compare complete complex complicate concern condition conduct confident confirm conflict confuse connect consider"
    " consistent constant contact contain content context continue contribute control conversation convenient convince cool core"
    " correct cost couple course cover crazy create critical crucial curious current daily damage day deal decide decision dedicate"
    " deep define definite degree delicate delight deliver demand depend describe deserve design desire detail determine develop"
    " difference different difficult direct direction disappoint discover discuss disrupt dive double doubt drive due dynamic each"
    " eager ease easily easy effect effective effort element else embrace emerge emotion emphasize enable encourage end energy engage"
    " enhance enjoy enough ensure enter entire environment especial essential establish even event eventual ever every everyone"
    " everything evolve exact example excellent except excite exist expect experience explain explore express extend extra extreme"
    " face fact factor fail fair fall familiar family fan fascinate fast favorite fear feature feel few field fight figure fill final find"
    " fine first fit fix flexible flow focus folk follow force forget form forth forward foster found foundation free freedom frequent fresh"
    " friend frustrate full fun function fundamental further future gain game general generate genuine get give glad global go goal good grab grateful great"
    " ground group grow growth guess guide habit half hand handle happen happy hard hate head health healthy hear heart help high highlight hint hit hold home honest"
    " hope huge human hurt idea ideal identify ignore imagine immediate impact important impress improve include increase incredible indeed"
    " individual influence inform information initial insight inspire instance instant instead integrate intense interest introduce"
    " invest involve issue item job join journey joy judge keep key kind know knowledge lack land large late latest lately lead learn least leave less"
    " lesson let level life lifestyle light like likely limit line link list listen little live local long look lose loss lot love low luck lucky main"
    " maintain major make manage many mark massive match matter maximize maybe mean meaning meaningful measure meet mention mere mess mind"
    " minimize minor minute miss mistake mix modern moment mood more morning most motivate move much multiple naturally natural navigate near nearly necessary"
    " need negative nervous never new next nice night nobody none normal note nothing notice number obvious occasion odd offer often old"
    " ongoing open operate opinion opportunity option order ordinary organize original outcome overall overwhelm own pace part particular pass"
    " passion past path patience pattern pay people perfect perform perhaps period person personal perspective phase pick picture piece place plan"
    " play please pleasure plenty point popular positive possible potential power practical practice prefer prepare present pressure pretty prevent"
    " previous pride prime primary principle prior priority problem process produce product program progress project promise proper properly protect proud prove provide pull"
    " purpose pursue push put quality question quick quiet quite raise random range rare rate rather reach react read ready real reality realize really"
    " reason recall receive recent recognize recommend record reduce refer reflect regard regular relate relation relationship relative relax"
    " release relevant reliable rely remain remember remind remove repeat replace reply report represent request require resolve resource respect respond"
    " responsibility rest result reveal review reward rich right risk role room routine rule run rush sad safe same satisfy save say scenario scene schedule"
    " search second secret section see seek seem select sell send sense separate serious serve service set settle several shape share shift short show side"
    " sign significant similar simple since single situation size skill slight slow small smart smooth social solid solution solve somebody someone something"
    " sometime sometimes somewhat soon sort sound source space speak special specific spend spot stage stand standard start state stay step stick still stop"
    " story straight strange strategy stream strength stress stretch strike strong structure struggle stuff style subject succeed success sudden suffer suggest suit"
    " super supply support suppose sure surprise switch system take talk target task team tell tend term terrible test thank theme thing think thorough though thought"
    " thrill thrive throughout time tiny tip tired today together tomorrow tone tonight top topic total touch tough toward track tradition transform treat tremendous trend"
    " trick trip trouble true trust try turn type typical ultimate unable understand unexpected unfortunate unique unless update upset urge use useful user usual"
    " valuable value variety various vary version view virtual vision visit vital wait walk want warm waste watch way wear week weekend welcome whatever whenever whether"
    " while whole wide willing win wise wish wonder wonderful word work world worry worse worst worth worthwhile would wow write wrong year yesterday yet young"
    " nach bei mit von für auf aus über unter zwischen ohne um zum zur vom im am gut besser viel mehr wenig groß klein neu alt lange kurz immer wieder gern gerne schön toll"
    " machen gemacht gehen gegangen kommen gekommen sehen gesehen sagen gesagt wissen gewusst denken finden gefunden geben gegeben nehmen brauchen möchte will kann könnte muss soll"
    " würde werden wird geworden lassen bleiben stehen liegen sache ding leute mensch zeit tag jahr woche heute gestern morgen alles nichts jemand wenn weil aber oder und denn als wie was wer wo"
    " avoir être faire fait aller allé venir venu voir vu dire dit savoir penser trouver donner prendre pris vouloir pouvoir devoir mettre chose gens temps jour année semaine toujours jamais souvent"
    " beaucoup peu plus moins grand petit nouveau vieux bon bien mieux pour dans avec sans sur sous entre chez par mais ou et car si comme quand où tout rien quelque avait était sera"
    " ser estar tener haber hacer hecho ir venir ver visto decir dicho saber pensar creer encontrar dar tomar querer poder deber poner cosa gente tiempo día año semana siempre nunca mucho poco más menos grande"
    " pequeño nuevo viejo bueno mejor para con sin sobre entre por pero o y porque si como cuando donde todo nada algo había era fue será"
)  # fmt: skip
COMMON: frozenset[str] = frozenset(terms(_EVERYDAY))

_TELLING = (
    "favorite first last new old best worst prefer love hate plan want wish need goal hope dream next each every half double couple single second"
    " child friend family home work job team game movie course class trip birthday party house school company name age year month week weekend day"
    " hour minute morning night daily live lose loss win sell buy start begin end stop try use avoid less more most than enjoy order pay cost price free small big"
    " large long short high low hot cold early late always usual open close wait ready break miss error change switch heart head hand art city room food water"
    " happy sad proud worry nervous excite tired afraid good bad call move visit learn teach become join leave meet marry break arrive send return"
    " ago account advice area challenge check deal design detail field figure gain group guide habit health idea issue item lesson level limit list measure"
    " mistake mood note number option piece place power practice process product program project question read record relation relationship report request"
    " resource result reward risk role routine rule schedule search section service shape side sign site skill sound source space spot stage step store story"
    " style subject support system target task test theme tip tool topic tradition trend trick trouble update voice walk write speak talk watch play listen pick drop push pull put set put turn pass check meet run drive key keep raise send sign sleep eat drink cook"
    " lieb gern gerne alt neu tag woche monat jahr arbeit freund kind haus ami travail maison jour semaine mois année trabajo amigo casa día semana mes año"
)
TELLING: frozenset[str] = COMMON & frozenset(terms(_TELLING))
"""Those of `COMMON` that say something beside a name or a thing; a note keeps them."""
