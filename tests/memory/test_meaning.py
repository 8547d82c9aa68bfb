"""Which texts say the same, and which only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.memory.languages import tongue
from autocompact.memory.meaning import Alike, Meanings, clashes, meaning, same

PARAPHRASES = [
    ("Tests of the importer need TZ=UTC", "The importer's tests require TZ=UTC"),
    ("Tests need TZ=UTC", "the tests require TZ=UTC to be set"),
    ("Run the formatter before committing", "Before you commit, run the formatter"),
    ("Always run migrations before starting the server", "Run the migrations before you start the server"),
    ("The integration tests are flaky on Windows", "Integration tests are flaky on Windows"),
    ("Do not edit generated files by hand", "Never edit generated files by hand"),
    ("The build breaks without Node 18", "Without Node 18, the build fails"),
    ("User prefers short answers", "The user always prefers short answers"),
    ("pytest must be run with -n 2", "Run pytest with -n 2"),
    ("The config folder must be created first", "Create the configuration directory first"),
    ("Copy schema.sql to the db folder", "schema.sql must be copied to the database directory"),
    ("Retry uploads three times", "Uploads are retried 3 times"),
    ("The API returns times in the UTC time zone", "API returns times in UTC timezone"),
    ("Don't use print in library code", "Do not use print in the library code"),
    ("The staging database is reset every night", "Every night the staging db is reset"),
    ("Requests time out after 30 seconds", "Requests time out after 30s"),
    ("Use pnpm instead of npm", "`pnpm` should be used instead of `npm`"),
    ("The queue holds 10,000 jobs", "The queue holds 10000 jobs"),
    (
        "The importer of the nightly job fails when the cache is cold",
        "Nightly importer job fails when cache is cold again",
    ),
    ("测试需要数据库", "测试需要数据库"),
    ("I should ask before deleting files", "Ask before deleting files"),
    ("Die Tests des Importers brauchen TZ=UTC", "Tests des Importers benötigen immer TZ=UTC"),
    ("Dateien aus dem Build nie von Hand ändern", "Die Dateien aus dem Build niemals von Hand ändern"),
    ("Uploads drei Mal wiederholen", "uploads 3 Mal wiederholen"),
    ("Bitte pnpm statt npm verwenden", "pnpm statt npm benutzen"),
    ("Der Build scheitert ohne Node 18", "Build scheitert ohne Node 18"),
    ("Les tests de l'importateur nécessitent TZ=UTC", "les tests de l’importateur exigent toujours TZ=UTC"),
    ("Il ne faut jamais modifier les fichiers générés", "Ne pas modifier les fichiers générés"),
    ("N'utilisez pas print dans le code", "n’utilise pas print dans ce code"),
    ("Relancer les envois trois fois", "relancer les envois 3 fois"),
    ("Utiliser pnpm au lieu de npm", "Utilisez pnpm au lieu de npm"),
    ("Las pruebas del importador necesitan TZ=UTC", "Pruebas del importador requieren siempre TZ=UTC"),
    ("Nunca editar los archivos generados", "Nunca modificar archivos generados"),
    ("Reintentar las subidas tres veces", "Reintentar subidas 3 veces"),
    ("Usar pnpm en lugar de npm", "Usa pnpm en lugar de npm"),
    ("La compilación falla sin Node 18", "la compilacion falla sin Node 18"),
    ("Store tokens in the keyring", "Tokens must be stored in the keyring"),
    ("The importer uses the cache of the parser", "The importer uses the parser's cache"),
    ("Call flush before closing the socket", "Before closing the socket, call flush"),
    ("Uploads larger than 2 GB fail", "Uploads larger than 2GB fail"),
    ("Users may delete their own comments", "Users can delete their own comments"),
    ("Admins are allowed to deploy", "Admins are permitted to deploy"),
    ("The linter must not change generated files", "The linter should never modify generated files"),
    ("Never push to main", "Do not push to main"),
    ("Ask the user before dropping a table", "Ask the user before deleting a table"),
    ("In CI, the cache is always cold", "The cache is cold in CI"),
    ("Set LANG=C for the tests", "For the tests, LANG=C must be set"),
    ("The worker could crash on empty input", "The worker might crash on empty input"),
    ("Copy the config from staging to production", "The config must be copied from staging to production"),
    ("Use rg instead of grep", "rg should be used instead of grep"),
    ("The nightly build takes over 40 minutes", "The nightly build takes over 40 min"),
    ("After the migration restart the workers", "Restart the workers after the migration"),
    ("Tests of the exporter run only on Linux", "The exporter's tests run only on Linux"),
    ("Mount the volume in read-only mode", "The volume must be mounted in read-only mode"),
    ("Without a token the upload fails", "The upload fails without a token"),
    ("The page loads without cookies", "Without cookies, the page loads"),
    ("Invoices are rounded to two digits", "Round invoices to 2 digits"),
    ("Do not commit secrets to the repo", "Never commit secrets to the repository"),
    ("Clear the cache before each benchmark", "Before each benchmark, clear the cache"),
    ("The CSV export needs UTF-8", "CSV exports require UTF-8"),
    ("On Windows the path must be quoted", "The path must be quoted on Windows"),
    ("Run `make lint` before you push", "Run make lint before pushing"),
    ("The API may return null for deleted users", "The API can return null for deleted users"),
    ("Set the timeout to 30 seconds", "The timeout must be set to 30 s"),
    ("Log files are deleted after two weeks", "Log files get removed after 2 weeks"),
    ("Open an issue before large changes", "Before large changes, open an issue"),
    ("Check the return value of write", "The return value of write must be checked"),
    ("Prefer composition over inheritance", "Composition should be preferred over inheritance"),
    ("Start the worker after the database", "After the database, start the worker"),
    ("The staging server is restarted at 3 am", "Staging server restarted at 3 am"),
]
LOOK_ALIKES = [
    ("Retry uploads 3 times", "Retry uploads 5 times"),
    ("Use Python 3.11", "Use Python 3.12"),
    ("v1.2.3 breaks the importer", "v1.2.4 breaks the importer"),
    ("Issue #12 is fixed", "Issue #13 is fixed"),
    ("The job runs at 10:00", "The job runs at 11:00"),
    ("Timeouts are 30 s", "Timeouts are 30 ms"),
    ("report_2024.csv is broken", "report_2025.csv is broken"),
    ("Never edit generated files", "Always edit generated files"),
    ("Edit generated files by hand", "Do not edit generated files by hand"),
    ("The build passes with the cache", "The build passes without the cache"),
    ("测试需要数据库", "测试不需要数据库"),
    ("config.yaml holds the port", "config.toml holds the port"),
    ("src/a.py is generated", "src/b.py is generated"),
    ("load_user caches results", "load_users caches results"),
    ("--fast skips checks", "--full skips checks"),
    ("Alice reviews the parser", "Bob reviews the parser"),
    ("The tests are flaky on linux", "The tests are flaky on windows"),
    ("postgres needs a vacuum every night", "redis needs a vacuum every night"),
    ("Run migrations before the tests", "Run the tests before migrations"),
    ("Run the formatter before the linter", "Run the formatter after the linter"),
    ("Copy A to B", "Copy B to A"),
    ("The importer requires the parser", "The parser requires the importer"),
    ("Prefer tabs over spaces", "Prefer spaces over tabs"),
    ("Only admins may deploy", "Admins may deploy"),
    ("The cache is enabled in CI", "The cache is disabled in CI"),
    ("The build sometimes fails", "The build always fails"),
    ("Tests need TZ=UTC", "Tests need TZ=UTC and LANG=C"),
    ("The cache is stale after deploy", "The cache is stale after a failed deploy"),
    ("Users can delete comments", "Users can create comments"),
    (
        "The importer tests in CI are slow when the cache is cold",
        "The importer tests in CI are slow when the cache is cold on Windows",
    ),
    ("...", "!!!"),
    ("Die Tests laufen nicht auf Windows", "Die Tests laufen auf Windows"),
    ("Generierte Dateien immer von Hand ändern", "Generierte Dateien nie von Hand ändern"),
    ("Uploads drei Mal wiederholen", "Uploads fünf Mal wiederholen"),
    ("Nur Admins dürfen Kommentare löschen", "Admins dürfen Kommentare löschen"),
    ("Den Formatter vor dem Linter laufen lassen", "Den Linter vor dem Formatter laufen lassen"),
    ("Der Importer sperrt den Parser", "Der Parser sperrt den Importer"),
    ("Kopiere die Tabelle A in B", "Kopiere die Tabelle B in A"),
    ("Der Cache ist im CI gültig", "Der Cache ist im CI ungültig"),
    (
        "Der nächtliche Lauf des Importers scheitert bei leerem Cache ohne Warnung sofort",
        "Der nächtliche Lauf des Importers scheitert bei leerem Cache ohne Warnung",
    ),
    ("Benutzer können Kommentare löschen", "Benutzer müssen Kommentare löschen"),
    ("Modifier les fichiers générés", "Ne pas modifier les fichiers générés"),
    ("N'utilisez pas print", "Utilisez print"),
    ("La commande ne supprime que les fichiers", "La commande ne supprime pas les fichiers"),
    ("Le serveur ne redémarre plus", "Le serveur redémarre"),
    ("Le serveur ne redémarre plus", "Le serveur ne redémarre pas"),
    ("Relancer les envois trois fois", "Relancer les envois cinq fois"),
    ("L'importateur bloque l'analyseur", "L'analyseur bloque l'importateur"),
    ("Attendre jusqu'à la migration", "Attendre la migration"),
    ("Le port est 8080", "Le port est 8081"),
    ("Redirige le port 80 vers 8080", "Redirige le port 8080 vers 80"),
    ("Usar tabuladores", "No usar tabuladores"),
    ("La compilación pasa con la caché", "La compilación pasa sin la caché"),
    ("Reintentar las subidas tres veces", "Reintentar las subidas once veces"),
    ("Solo los administradores pueden desplegar", "Los administradores pueden desplegar"),
    ("Ejecutar la migración antes de las pruebas", "Ejecutar las pruebas antes de la migración"),
    ("El servidor usa Python 3.11", "El servidor usa Python 3.12"),
    ("Копируй таблицу в архив", "Копируй архив в таблицу"),
    ("Store A in B", "Store B in A"),
    ("Users can delete comments", "Users must delete comments"),
    ("Admins may deploy", "Admins deploy"),
    ("The job could fail on Mondays", "The job fails on Mondays"),
    ("The parser uses the importer", "The importer uses the parser"),
    ("Redis stores sessions for the gateway", "The gateway stores sessions for Redis"),
    ("Cache the schema in the worker", "Cache the worker in the schema"),
    ("Retry uploads 3 times and downloads 5 times", "Retry uploads 5 times and downloads 3 times"),
    ("Only admins may deploy to staging", "Admins may deploy only to staging"),
    ("The build passes without the cache", "The build does not pass with the cache"),
    ("Do not run tests with coverage", "Run tests without coverage"),
    ("Requests take over 5 minutes", "Requests take under 5 minutes"),
    ("Copy fixtures from staging", "Copy fixtures to staging"),
    ("Run the formatter before the linter", "Before the formatter, run the linter"),
    ("Deploy after the review", "Deploy before the review"),
    ("Upgrade to Django 5.1", "Upgrade to Django 5.2"),
    ("The limit is at least 10 requests", "The limit is at most 10 requests"),
    ("Replace tabs with spaces", "Replace spaces with tabs"),
    ("The client closes the socket", "The socket closes the client"),
    ("Merge the feature branch into main", "Merge main into the feature branch"),
    ("Send invoices to customers by mail", "Send mail to customers by invoices"),
    ("The importer fails unless the cache is warm", "The importer fails if the cache is warm"),
    ("Users cannot see deleted comments", "Users can see deleted comments"),
    ("The gateway waits for the worker", "The worker waits for the gateway"),
    ("Version 2 reads files of version 3", "Version 3 reads files of version 2"),
    ("The queue is full until the worker starts", "The worker starts until the queue is full"),
    ("The API may return null", "The API returns null"),
    ("Clear the cache before each benchmark", "Clear the cache after each benchmark"),
    ("The proxy talks to the backend", "The backend talks to the proxy"),
    ("Prefer composition over inheritance", "Prefer inheritance over composition"),
    ("Set the timeout to 30 seconds", "Set the timeout to 30 minutes"),
    ("Do not commit to main", "Commit to main"),
    ("Log files are kept for two weeks", "Log files are kept for three weeks"),
    ("Users should not share tokens", "Users should share tokens"),
    ("Mount /data on /backup", "Mount /backup on /data"),
    ("The worker must not start before the database", "The database must not start before the worker"),
    ("Tests may use the network", "Tests must use the network"),
    ("Import settings from env", "Export settings from env"),
    ("Tests need at least 4 GB", "Tests need at least 8 GB"),
    ("Allow only signed commits", "Allow signed commits"),
    ("Node 18 is supported since version 3", "Node 3 is supported since version 18"),
    ("Deploy on Friday, not on Monday", "Deploy on Monday, not on Friday"),
    ("Anna reviews code of Bob", "Bob reviews code of Anna"),
    ("Never retry without a delay", "Never delay without a retry"),
    ("Use a mutex for the map", "Use a map for the mutex"),
    ("The server is slower than the client", "The client is slower than the server"),
    ("Sort by date, then by name", "Sort by name, then by date"),
    ("The token is valid until logout", "The token is invalid until logout"),
    ("All tests pass in CI but not locally", "All tests pass locally but not in CI"),
    ("Indexes are rebuilt when the schema changes", "The schema changes when indexes are rebuilt"),
]
# They say the same, and are taken for two: who does what is known by the order of words alone.
MISSED = [
    ("Keep migrations small", "Migrations should be kept small"),
    ("The deploy job needs Docker 24", "Docker 24 is required by the deploy job"),
    (
        "The proxy drops idle connections after 60 seconds",
        "Idle connections are dropped by the proxy after 60 seconds",
    ),
    ("The tests cannot run without Docker", "Without Docker the tests can't run"),
]


@pytest.mark.parametrize("one, other", PARAPHRASES)
def test_paraphrases_say_the_same_both_ways(one: str, other: str):
    assert same(meaning(one), meaning(other))
    assert same(meaning(other), meaning(one))
    assert found(one, other)
    assert found(other, one)


@pytest.mark.parametrize("one, other", LOOK_ALIKES)
def test_look_alikes_stay_apart_both_ways(one: str, other: str):
    assert not same(meaning(one), meaning(other))
    assert not same(meaning(other), meaning(one))
    assert not grouped(one, other)
    assert not found(one, other)


@pytest.mark.parametrize("one, other", MISSED)
def test_in_doubt_two_stay_apart(one: str, other: str):
    assert not same(meaning(one), meaning(other))


def test_a_compound_written_with_a_long_s_is_read_as_two_words():
    assert meaning("The teſt suite hangs").order == ("test", "suit", "hang")
    assert meaning("The Test Suite hangs").order == ("test", "hang")


def test_values_are_found_by_texts_that_are_alike():
    values = Alike[int]()
    texts = ["Copy A in B", "Copy B in A", "Always copy A in B", "...", "!!!", "..."]
    assert [values.setdefault(text, number) for number, text in enumerate(texts)] == [0, 1, 0, 3, 4, 3]
    assert list(values) == [0, 1, 3, 4]
    assert (values.get("copy B in A"), values.get("Copy A")) == (1, None)


@pytest.mark.parametrize(
    "text, language",
    [
        ("Workers die after a restart", "english"),
        ("The die is cast", "english"),
        ("Run it on a port, con or sin", "english"),
        ("Tests need TZ=UTC", "english"),
        ("Die Tests brauchen TZ=UTC", "german"),
        ("Tests laufen nur in UTC", "german"),
        ("L'importateur échoue", "french"),
        ("C’est lent", "french"),
        ("El puerto es 80", "spanish"),
        ("Тесты", "other"),
        ("The naïve parser", "english"),
    ],
)
def test_the_language_is_known_by_small_words_and_english_in_doubt(text: str, language: str):
    assert tongue(text.split()) == language


def grouped(one: str, other: str) -> bool:
    values = Alike[int]()
    values.setdefault(one, 1)
    return values.get(other) is not None


def found(one: str, other: str) -> bool:
    known = Meanings()
    known.add("The moon is far away", 0)
    known.add(one, 1)
    return known.find(other) == 1


WORDS = st.lists(
    st.sampled_from(
        "run the tests before deploy cache importer not 3 5 only Redis fails a.py slow and always".split()
    ),
    max_size=12,
).map(" ".join)


@given(texts=st.lists(WORDS, max_size=12), text=WORDS)
def test_the_index_finds_what_comparing_with_each_would_find(texts: list[str], text: str):
    known = Meanings()
    for number, each in enumerate(texts):
        known.add(each, number)
    expected = next((n for n, each in enumerate(texts) if same(meaning(text), meaning(each))), None)
    assert known.find(text) == expected


def test_rules_that_speak_of_the_same_and_differ_contradict_each_other():
    rules = [
        "Always use tabs",
        "Never use tabs",
        "Retry three times on failure",
        "Retry 5 times on failure",
        "Enable the cache in CI",
        "Disable the cache in CI",
        "The cache is in CI",
        "Do not use tabs in generated Makefiles of vendored projects",
        "...",
    ]
    assert set(clashes(rules)) == {(0, 1, "negation"), (2, 3, "figure"), (4, 5, "opposite")}


def test_rules_that_agree_do_not_contradict_each_other():
    assert (
        list(clashes(["Use tabs", "Use tabs in Makefiles", "Retry 3 times", "Retry uploads 3 times"])) == []
    )
