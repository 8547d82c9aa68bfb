"""Pairs of observations in English, German, French, Spanish, Chinese and Japanese, two of them to a line."""


def _pairs(lines: str) -> list[tuple[str, str]]:
    found = [line.partition(" | ") for line in lines.strip().splitlines()]
    return [(one, other) for one, _, other in found]


LOOK_ALIKES = _pairs("""
Use custom forms for imports | Use customs forms for imports
Check good deliveries twice | Check goods deliveries twice
Window paths need quotes | Windows paths need quotes
Team messages are archived | Teams messages are archived
Rail changes need a review | Rails changes need a review
Page builds run nightly | Pages builds run nightly
The agent runs tests | The agents run test
Ann writes the tests and Ben the docs | Ben writes the tests and Ann the docs
Start the gateway, then the worker | Start the worker, then the gateway
The flag is on by default | The flag is off by default
Stop before the backup | Stop after the backup
Contributors must sign | Contributors may sign
The lock lasts 30 s | The lock lasts 30 m
The disk has 16 GB free | The disk has 16 GiB free
Rate limit is 100 per minute | Rate limit is 100 per hour
Never cache the token | Cache the token, never the page
Don't wait for CI | Wait for CI, don't push
Use A/B tests | Use B/A tests
Read from replica, write to primary | Write to replica, read from primary
Log in as root | Log in as admin
Ship on Tuesdays | Ship on Thursdays
Only seniors merge to main | Seniors merge only to main
The client signs and the server checks | The server signs and the client checks
Fail if the cache is empty | Fail unless the cache is empty
The export includes drafts | The export excludes drafts
Indent by 2 spaces | Indent by 4 spaces
Prefer sync over async | Prefer async over sync
The job is idempotent | The job is not idempotent
The report covers May | The report may cover
Set mode to 0644 | Set mode to 0664
Set mode to 644 | Set mode to 0644
Version 1.10 is broken | Version 1.1 is broken
The hook is called twice | The hook is called once
Everyone can read | Nobody can read
Use snake_case for fields | Use snakeCase for fields
Keep the branch for review | Keep the review for branch
All but admins see it | All and admins see it
No tests, need docs | No tests need docs
Delete logs older than a week | Delete logs newer than a week
At most 3 retries | At least 3 retries
More than 5 users fail | Fewer than 5 users fail
It is due at noon | It is due at midnight
Increase the timeout | Decrease the timeout
The user's file is kept | The users file is kept
Ask the lead dev | Ask the dev lead
Backup the database first | Backup the first database
We use IT tickets | We use it tickets
Ask the WHO portal | Ask the who portal
Use Rust for tools | Use rust for tools
Read the C file | Read the C++ file
Set FOO=1 | Set FOO=0
Set foo=1 | Set FOO=1
Open port 8080 for A | Open port 8080 for B
"No" means stop | No means stop it
Der Dienst läuft auf Port 80 | Der Dienst läuft auf Port 8080
Die Abgabe ist am 1,250. | Die Abgabe ist am 1250.
Der Faktor ist 1,250 | Der Faktor ist 1250
Das Limit ist 2,500 kg | Das Limit ist 2500 kg
Chefs fragen zuerst | Chef fragen zuerst
Der Vertrag gilt ab Mai | Der Vertrag gilt bis Mai
Anna gibt Ben den Schlüssel | Ben gibt Anna den Schlüssel
Den Admin fragt der Nutzer | Der Admin fragt den Nutzer
Der Nutzer darf löschen | Der Nutzer muss löschen
Er soll warten | Sie soll warten
Die Warteschlange ist voll | Die Warteschlange ist leer
Erst bauen, dann testen | Erst testen, dann bauen
Vor dem Start sichern | Nach dem Start sichern
Mit Rechten starten | Ohne Rechte starten
Höher als 5 Grad | Tiefer als 5 Grad
Alle 5 Minuten prüfen | Alle 5 Sekunden prüfen
Nicht mehr als drei | Mehr als drei nicht
Kein Deploy am Freitag | Deploy am Freitag
Nie ohne Review mergen | Nie mit Review mergen
Nur im Test loggen | Im Test nur loggen
Das Modul A nutzt Modul B | Das Modul B nutzt Modul A
Der Schalter steht auf an | Der Schalter steht auf aus
Die Liste ist aufsteigend sortiert | Die Liste ist absteigend sortiert
Der Leiter prüft die Rechnung | Die Leiter prüft die Rechnung
Die Bank sperren | Bänke sperren
Sie prüfen die Tests | Sie prüft die Tests
Bitten prüfen | Bitte prüfen
Das Band läuft | Der Band läuft
Der See ist tief | Die See ist tief
Das Log umfahren | Das Log umschreiben
Montags testen | Montag testen
Abends sichern | Abend sichern
Der Test ist unnötig | Der Test ist nötig
Das Feld ist optional | Das Feld ist Pflicht
Links oben klicken | Rechts oben klicken
Drei Versuche, fünf Sekunden | Fünf Versuche, drei Sekunden
Der Kunde zahlt zuerst | Der Kunde zahlt zuletzt
Weder A noch B nutzen | A noch B nutzen
Es reicht ein Review | Es reicht kein Review
Debes pedir permiso | Debe pedir permiso
Puedes borrar la tabla | Puede borrar la tabla
Siempre avisas al jefe | Siempre avisa al jefe
Borras los logs viejos | Borra los logs viejos
El factor es 1,250 | El factor es 1250
El puerto es 80 | El puerto es 8080
Primero compilar, luego probar | Primero probar, luego compilar
Antes de subir, guardar | Después de subir, guardar
El usuario puede borrar | El usuario debe borrar
Ana paga a Luis | Luis paga a Ana
La cola está llena | La cola está vacía
Con permiso se borra | Sin permiso se borra
Nunca usar caché | Usar caché siempre
Solo Ana despliega | Ana despliega sola
Más de 5 usuarios | Menos de 5 usuarios
El capital crece | La capital crece
La orden llega | El orden llega
Él decide | Ella decide
No hay pruebas | Hay pruebas
Sube a producción | Baja a producción
Si falla, reintentar | Sí falla, reintentar
El límite es de 2 GB | El límite es de 2 MB
Espera 5 minutos | Espera 5 horas
No solo leer | Solo no leer
Tú revisas el código | Él revisa el código
Te llama el cliente | Me llama el cliente
Dar acceso a Ana | Quitar acceso a Ana
Cerrar antes de las 10 | Cerrar después de las 10
La prueba es válida | La prueba es inválida
El papa firma | El papá firma
Esta lista falla | Está lista, falla
Mas fallos | Más fallos
Hacen falta tres | Hacen falta trece
Leer de A y escribir en B | Leer de B y escribir en A
Tu lances les tests | Tu lance les test
Les fils sont cassés | Les fil sont cassés
Le fils est cassé | Le fil est cassé
Il teste le code | Ils teste le code
Le facteur est 1,250 | Le facteur est 1250
Le port est ouvert | Le port est fermé
D'abord compiler, puis tester | D'abord tester, puis compiler
Avant l'envoi, sauvegarder | Après l'envoi, sauvegarder
L'utilisateur peut effacer | L'utilisateur doit effacer
Anne paie Luc | Luc paie Anne
La file est pleine | La file est vide
Avec droits, lancer | Sans droits, lancer
Le mode sombre est désactivé | Le mode sombre est activé
Plus de 5 erreurs | Moins de 5 erreurs
Le livre est lu | La livre est lu
Le tour est fini | La tour est fini
Il n'y a plus d'erreurs | Il y a plus d'erreurs
Attendre 5 minutes | Attendre 5 heures
Personne ne lit | Une personne lit
Ne pas seulement lire | Seulement ne pas lire
Donner l'accès à Anne | Retirer l'accès à Anne
La clé est à gauche | La clé est à droite
Le test est valide | Le test est invalide
Elle relit le code | Il relit le code
Copier de A vers B | Copier de B vers A
La taille est de 3 Ko | La taille est de 3 Mo
Chaque jour sauf lundi | Chaque jour et lundi
Cote du serveur | Côté du serveur
Le pêcheur signe | Le pécheur signe
Ou lire le log | Où lire le log
A jour le lundi | À jour le lundi
Du code propre | Dû code propre
Les notes sont sur 20 | Les notes sont sûr 20
Aucun test ne passe | Chacun des tests passe
Le client appelle avant midi | Le client appelle après midi
Toutes les 5 minutes | Toutes les 15 minutes
开启调试模式 | 关闭调试模式
先备份再删除 | 先删除再备份
在构建之前清理 | 在构建之后清理
用户可以删除 | 用户必须删除
不允许推送 | 允许推送
甲审核乙 | 乙审核甲
限制为5兆字节 | 限制为5千字节
等待5分钟 | 等待5小时
最多三次 | 最少三次
从甲复制到乙 | 从乙复制到甲
队列已满 | 队列已空
没有测试 | 有测试
只读模式 | 只写模式
必须登录 | 不必登录
他负责部署 | 她负责部署
向上滚动 | 向下滚动
每天运行 | 每周运行
增加超时 | 减少超时
不,要测试 | 不要测试
使用旧版接口 | 使用新版接口
左对齐 | 右对齐
重试三次 | 重试五次
未读消息 | 已读消息
デバッグをオンにする | デバッグをオフにする
先に保存してから消す | 先に消してから保存する
ビルドの前に掃除 | ビルドの後に掃除
利用者は削除できる | 利用者は削除すべきだ
プッシュしてはいけない | プッシュしてもいい
甲が乙を審査する | 乙が甲を審査する
上限は5メガ | 上限は5ギガ
5分待つ | 5時間待つ
最大3回 | 最小3回
キューは満杯 | キューは空
テストがない | テストがある
読み取り専用 | 書き込み専用
彼が配備する | 彼女が配備する
毎日動かす | 毎週動かす
タイムアウトを増やす | タイムアウトを減らす
ビルドはいつも失敗する | ビルドはたまに失敗する
旧版を使う | 新版を使う
左寄せにする | 右寄せにする
ログは必要です | ログは不要です
はい、消す | いいえ、消す
ハハが動かす | パパが動かす
ビルを直す | ビルドを直す
Polish the texts | Polish texts
Build first, test | Build, first test
Wait, only then push | Wait only, then push
ASK THE WHO PORTAL | ask the who portal
The WHO form is due | The who form is due
Ask IT for the keys | Ask it for the keys
The new goods are checked | The new good are checked
Send the report to Teams | Send the report to teams
Lead the developers | Lead developers
Test the runs | Test runs
Log the errors of A | Log errors of the A
If tests fail, first retry | If tests fail first, retry
The job runs for 1,500 ms | The job runs for 1.500 ms
Do it now, not later | Do it, not now later
Use the cache only in CI, then drop it | Use the cache only, in CI then drop it
We must pay Ben, not Ann | We must pay, not Ben Ann
Never the less | Nevertheless
The API v2 is stable | The API v3 is stable
Keep the US keys | Keep the us keys
The pool has 2 + 3 workers | The pool has 2 - 3 workers
Rule: never push | Rule never push
The left pod is warm | The left pod was warm
The tests are green | The tests were green
The tests are done by 5 | The tests are done at 5
They can fish | They can Fish
Ann and Ben or Cy sign | Ann or Ben and Cy sign
The server is in room 12 B | The server is in room 12 b
The ratio is 1:2 | The ratio is 2:1
The range is 1-5 | The range is 1, 5
Set it to 5.0 | Set it to 50
The user is "admin" | The user is not "admin"
Set x=1, y=2 | Set x=2, y=1
Use `a` and `b` | Use `b` and `a`
Der Mann beißt den Hund | Den Mann beißt der Hund
Erst fragen, dann nicht löschen | Erst fragen dann, nicht löschen
Das Team prüft, nicht der Chef | Das Team prüft nicht, der Chef
Der gefangene Fehler | Der Gefangene Fehler
Sie können lesen | sie können lesen
Wir haben liebe Genossen | Wir haben Liebe genossen
Er darf alles lesen | Er darf alles Lesen
Ein Test reicht | Kein Test reicht
Der Job läuft täglich | Der Job läuft tagsüber
Umfahren heißt anhalten | umfahren heißt nicht anhalten
Tu dois relire | Il doit relire
Elles lancent le job | Elle lance le job
Nous voulons tester | Nous voulions tester
Le job tourne, pas le test | Le job ne tourne pas, le test
Il a dit non | Il n'a pas dit non
Après lundi | Lundi après
Il est plus rapide | Il n'est plus rapide
Le ou la cheffe signe | Le où la cheffe signe
Estas pruebas fallan | Estás pruebas fallan
Lee los logs | Leen los logs
No es un error | Es un error, no
Está en la rama A | Esta en la rama A
Compro dos | Compró dos
Solo lee | Sólo lees
Tienes que probar | Tiene que probar
不是我删的 | 是我不删的
他不能来 | 他能不来
一个小时前 | 一个小时后
三个人 | 两个人
可能失败 | 不可能失败
東から西へ | 西から東へ
食べる前に洗う | 洗う前に食べる
必ずしも必要ではない | 必ず必要ではない
行くな | 行く
3名以上 | 3名以下
""")
"""Different things: order, roles, figures, units, negation, numbers of verbs, names that look like plurals, pauses."""

PARAPHRASES = _pairs("""
Back up the database before every release | Before each release, make a backup of the database
The importer chokes on empty files | Empty files make the importer crash
Prefer small pull requests | Pull requests should be small
Ann wants answers in German | Ann prefers answers in German
Type hints are required in new code | New code needs type hints
Do not log personal data | Personal data must not be logged
The nightly job needs 8 GB of memory | 8 GB of memory are needed by the nightly job
Keep functions short | Functions should be kept short
The tests rely on the network | Tests depend on network access
Ask before you add a dependency | Adding a dependency needs a question first
Vor jedem Release die Datenbank sichern | Die Datenbank ist vor jedem Release zu sichern
Der Import scheitert an leeren Dateien | Leere Dateien bringen den Import zum Scheitern
Kleine Pull Requests bevorzugen | Pull Requests sollen klein sein
Neue Funktionen brauchen Typangaben | Typangaben sind in neuen Funktionen nötig
Keine persönlichen Daten loggen | Persönliche Daten dürfen nicht geloggt werden
Der Nachtlauf braucht 8 GB Speicher | 8 GB Speicher sind für den Nachtlauf nötig
Funktionen kurz halten | Die Funktionen sind kurz zu halten
Die Tests brauchen Netzzugang | Ohne Netzzugang laufen die Tests nicht
Vor neuen Abhängigkeiten fragen | Neue Abhängigkeiten nur nach Rückfrage
Fehlermeldungen auf Englisch schreiben | Fehlermeldungen müssen auf Englisch sein
Sauvegarder la base avant chaque version | Avant chaque version, la base doit être sauvegardée
L'import échoue avec les fichiers vides | Les fichiers vides font échouer l'import
Préférer les petites pull requests | Les pull requests doivent être petites
Le nouveau code a besoin de types | Les types sont obligatoires dans le nouveau code
Ne pas journaliser les données personnelles | Les données personnelles ne doivent pas être journalisées
La tâche de nuit demande 8 Go de mémoire | 8 Go de mémoire sont nécessaires à la tâche de nuit
Garder les fonctions courtes | Les fonctions doivent rester courtes
Les tests ont besoin du réseau | Sans réseau, les tests ne passent pas
Demander avant d'ajouter une dépendance | Une dépendance s'ajoute après demande
Écrire les messages d'erreur en anglais | Les messages d'erreur sont en anglais
Respaldar la base antes de cada versión | Antes de cada versión hay que respaldar la base
La importación falla con archivos vacíos | Los archivos vacíos hacen fallar la importación
Preferir pull requests pequeños | Los pull requests deben ser pequeños
El código nuevo necesita tipos | Los tipos son obligatorios en el código nuevo
No registrar datos personales | Los datos personales no se registran
La tarea nocturna pide 8 GB de memoria | 8 GB de memoria necesita la tarea nocturna
Mantener cortas las funciones | Las funciones deben ser cortas
Las pruebas necesitan la red | Sin la red, las pruebas fallan
Preguntar antes de añadir una dependencia | Antes de añadir una dependencia, preguntar
Escribir los mensajes de error en inglés | Los mensajes de error van en inglés
每次发布之前备份数据库 | 发布前要先备份数据库
空文件会让导入失败 | 导入空文件时会失败
优先提交小的合并请求 | 合并请求要尽量小
新代码需要类型注解 | 新代码必须写类型注解
不要记录个人数据 | 个人数据不能写进日志
夜间任务需要8GB内存 | 夜间任务要用8GB内存
函数要保持简短 | 保持函数简短
测试依赖网络 | 测试需要网络
添加依赖之前先询问 | 先询问再添加依赖
错误信息用英文写 | 用英文写错误信息
リリースの前にデータベースをバックアップする | データベースはリリース前にバックアップすること
空のファイルでインポートが失敗する | インポートは空のファイルで失敗する
小さなプルリクエストを好む | プルリクエストは小さくする
新しいコードには型注釈が必要 | 型注釈は新しいコードに必須です
個人データをログに残さない | ログに個人データを書かないこと
夜間ジョブは8GBのメモリが必要 | 夜間ジョブには8GBのメモリが要る
関数は短く保つ | 短い関数を保つ
テストはネットワークが必要 | テストにはネットワークが要る
依存を追加する前に尋ねる | 依存の追加は尋ねてから
エラーメッセージは英語で書く | エラーメッセージを英語で書くこと
""")
"""The same in other words, ten in each language."""
