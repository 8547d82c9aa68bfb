"""Secrets in URLs, as a table: the password of the user, a parameter, a segment of the path, a whole webhook."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import dense, form, given, stated
from autocompact.core.redaction.name_places import OTHER_TOKENS
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import has_digit, is_placeholder, mixed, random_looking
from autocompact.core.redaction.words import is_word

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_IS = r"(?:=|%3D)"
_ENCODED = r"(?:[A-Za-z0-9/+._~-]|%(?!26|3B|22|20|27|7D|2C|0A|0D|3D)[0-9A-F]{2})"
_PADDING = r"(?:=|%3D|%253D){0,2}"
_BEFORE_PARAMETER = r"(?:[?&;]|&amp;|%3F|%26|\\u0026)"
_TOKEN_PARAMETER = rf"{_BEFORE_PARAMETER}(?!(?:[\w.-]{{0,40}}[_.-])?(?i:{'|'.join(OTHER_TOKENS)})[_-]?$)(?:[\w.-]{{0,40}}[_.-])?$"
"""The name of a parameter up to "token": none of those that say where a list goes on."""


def _made_up(value: str) -> bool:
    return len(value) >= 10 and has_digit(value) and random_looking(value) and not is_placeholder(value)


def _parameter(value: str) -> bool:
    return _made_up(value) and not _UUID.match(value)


def _signature(value: str) -> bool:
    return dense(value) and random_looking(value)


def _user_of_url(value: str) -> bool:
    user, _, _ = value.partition(":")
    return len(user) >= 20 and mixed(user) and random_looking(user) and not is_placeholder(user)


_SCHEME = r"(?P<s>(?:https?(?::|%3A)(?:\\{0,3}/|%2F){2})?"
"""The beginning of a URL that is a secret as a whole: what is there is known to whoever has it."""
_URL_END = r"\s/\"'<>`\\"
_URLS = (
    form(
        "token",
        "://",
        pattern=r"://(?P<s>[\w-]{20,200}(?::[^\s/:@\"\'<>]{0,200})?)@(?=[\w\[$])",
        examples=(
            "https://«<h40>»@github.com/o/r.git",
            "https://«<a32>:x-oauth-basic»@github.com/o/r.git",
            "https://«<h32>:<h32>»@o1.ingest.sentry.io/4",
        ),
        others=("https://continuous-integration-bot@example.com/x",),
        accept=_user_of_url,
    ),
    form(
        "password",
        "://",
        pattern=rf"://[^\s/:@?#\"'<>]{{0,80}}:(?!\d{{1,5}}[/?#,])(?P<s>[^{_URL_END}]{{1,200}})@(?=[\w\[$])",
        examples=(
            "postgres://app:«hunter2»@db:5432/x",
            "redis://:«p4@ss»@cache:6379/0",
            "origin https://x-access-token:«<a36>»@git.acme.dev/o/web.git (fetch)",
            "https://user:«tr0ub4dor»@[::1]/",
            "mongodb+srv://svc:«<a16>»@cluster0.mongodb.net/app?retryWrites=true",
            "amqp://svc:«<a12>»@mq:5672//",
        ),
        others=(
            "postgres://user:password@localhost/db",
            "postgres://${USER}:${PASS}@host/db",
            "https://user:<pass>@host",
            "https://user:***@host",
            "http://localhost:8080/path@1",
            "http://localhost:8080?x=a@b.c",
            "https://example.com:443,user@example.com",
            "ssh://git@github.com:22/owner/repo",
        ),
        accept=given,
    ),
    form(
        "password",
        r":\/\/",
        pattern=rf":\\/\\/[^\s/:@?#\"'<>]{{0,80}}:(?!\d{{1,5}}\\?[/?#,])(?P<s>[^{_URL_END}]{{1,200}})@(?=[\w\[$])",
        examples=(r"postgres:\/\/app:«<a12>»@db:5432\/x",),
        others=(r"http:\/\/localhost:8080\/path@1",),
        accept=given,
    ),
    form(
        "Slack webhook",
        "hooks.slack.com",
        pattern=_SCHEME
        + r"hooks\.slack\.com(?:\\{0,3}/|%2F)(?:services|workflows|triggers)(?:\\{0,3}/|%2F)[A-Za-z0-9]{8,}(?:\\{0,3}/|%2F)[A-Za-z0-9]{8,}(?:\\{0,3}/|%2F)[A-Za-z0-9]{12,}(?:/[A-Za-z0-9]{8,})?)",
        back=24,
        examples=(
            r"«https:\/\/hooks.slack.com\/services\/T0<u9>\/B0<u9>\/<a24>»",
            "POST «https://hooks.slack.com/services/T0<u9>/B0<u9>/<a24>»",
        ),
        others=(
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/",
        ),
        accept=lambda value: dense(value[-30:]),
    ),
    form(
        "Discord webhook",
        "webhook",
        pattern=_SCHEME
        + r"[\w.-]{4,60}\\{0,3}/api(?:\\{0,3}/v\d{1,2})?\\{0,3}/webhooks\\{0,3}/\d{15,22}\\{0,3}/[\w-]{20,})",
        back=90,
        ahead=200,
        examples=(
            r"«https:\/\/discord.com\/api\/webhooks\/<d18>\/<w68>»",
            "«https://discord.com/api/webhooks/<d18>/<w68>»",
            "«https://discordapp.com/api/v10/webhooks/<d18>/<w68>»",
        ),
        others=("https://discord.com/api/webhooks/123456789012345678/",),
    ),
    form(
        "Teams webhook",
        "webhook",
        pattern=_SCHEME
        + r"(?:[\w-]{1,40}\.)?webhook\.office\.com\\{0,3}/webhookb?2?\\{0,3}/[\w@-]{30,}\\{0,3}/IncomingWebhook\\{0,3}/[\w-]{20,}(?:\\{0,3}/[\w-]{20,})?)",
        back=70,
        ahead=300,
        examples=(
            r"«acme.webhook.office.com\/webhookb2\/<h8>-<h4>-<h4>-<h4>-<h12>@<h32>\/IncomingWebhook\/<h32>\/<h32>»",
            "«https://acme.webhook.office.com/webhookb2/<h8>-<h4>-<h4>-<h4>-<h12>@<h8>-<h4>-<h4>-<h4>-<h12>/IncomingWebhook/<h32>/<h8>-<h4>-<h4>-<h4>-<h12>»",
        ),
    ),
    form(
        "webhook",
        "/bot/v2/hook/",
        pattern=_SCHEME + r"[\w.-]{4,60}/open-apis/bot/v2/hook/[\w-]{16,})",
        back=100,
        ahead=120,
        examples=("«https://open.feishu.cn/open-apis/bot/v2/hook/<h8>-<h4>-<h4>-<h4>-<h12>»",),
    ),
    form(
        "OpenShift token",
        "sha256~",
        pattern=r"(?P<s>sha256~[\w-]{43})(?![\w-])",
        examples=("sha256~<w43>",),
    ),
    form(
        "authorization code",
        "4/0a",
        pattern=r"(?<![\w/:.-])(?-i:(?P<s>4/0A[\w-]{40,}))",
        examples=("code=«4/0A<w66>»&scope=email",),
        others=("https://h/4/0abc", "4/0A"),
    ),
    form("Google token", "1//0", pattern=r"(?<![\w/:])(?P<s>1//0[\w-]{40,})", examples=("1//0<w60>",)),
)

_PARAMETERS = (
    form(
        "signature",
        "signature=",
        pattern=rf"signature=[\"']?(?P<s>{_ENCODED}{{20,}}{_PADDING})",
        examples=(
            "?X-Amz-Expires=900&X-Amz-Signature=«<h64>»",
            "?X-Goog-Signature=«<h256>»&x=1",
            "/f.pdf?Expires=1700000000&Signature=«<a20>%2B<a10>%2F<a12>%3D»&Key-Pair-Id=K1",
            "SignedHeaders=host;x-amz-date, Signature=«<h64>»",
        ),
        others=("signature=compute_signature_of_the_request", "?signature=required-for-private-files"),
        accept=_signature,
    ),
    form(
        "signature",
        "signature%3d",
        pattern=rf"signature%3D(?P<s>{_ENCODED}{{20,}}{_PADDING})",
        examples=("url=https%3A%2F%2Fh%2Ff%3FX-Amz-Signature%3D«<h64>»",),
        accept=_signature,
    ),
    form(
        "Azure SAS",
        "sig",
        pattern=rf"sig{_IS}(?P<s>{_ENCODED}{{16,}}{_PADDING})",
        line=r"(?:[?&;]|&amp;|%3F|%26|\\u0026)$",
        examples=(
            "https://acc.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«<a40>%2F<a2>%3D»",
            "?sv=2021-06-08&se=2026&sig=«<a43>%3D»&x=1",
            "https://h/f?sp=r&amp;sig=«<a24>»",
            "https%3A%2F%2Fh%2Ff%3Fsp%3Dr%26sig%3D«<a43>%253D»",
        ),
        others=("?sig=short&x=1", "?sig=significant-other-things&x=1"),
        accept=_made_up,
    ),
    form(
        "token",
        "token",
        pattern=rf"token{_IS}(?P<s>{_ENCODED}{{10,}}{_PADDING})",
        line=_TOKEN_PARAMETER,
        examples=(
            "https://h/cb?state=x&access_token=«<a14>»&type=bearer",
            "wss://h/live?token=«<a12>%2F<a8>%3D%3D»",
            "/download?download_token=«<l12>»",
        ),
        others=(
            "?page_token=next-page-of-2024",
            "?token=your_token_123",
            "?page_token=<w60>",
            "?skipToken=<a40>",
        ),
        accept=_parameter,
    ),
    form(
        "API key",
        "key",
        pattern=rf"key{_IS}(?P<s>{_ENCODED}{{16,}}{_PADDING})",
        line=r"(?:[?&]|&amp;|%3F|%26|\\u0026)(?:api[_-]?|access[_-]?|auth[_-]?|secret[_-]?|app[_-]?)?$",
        examples=("https://api.example.com/v1/geo?q=x&key=«<a24>»", "/v2?apikey=«<a16>%2B<a6>»"),
        others=("?key=homepage-title-2024-long", "?key=123e4567-e89b-12d3-a456-426614174000"),
        accept=_parameter,
    ),
    form(
        "token",
        "auth=",
        pattern=rf"auth=(?P<s>{_ENCODED}{{16,}}{_PADDING})",
        line=r"(?:[?&]|&amp;)(?:x-)?$",
        examples=("https://hooks.acme.dev/in?auth=«<a20>»",),
        others=("?auth=required-for-all-of-2024", "?auth=oauth2"),
        accept=_parameter,
    ),
    form(
        "password",
        "p=",
        pattern=r"p=(?P<s>[^\s&\"'`]{5,100})",
        line=r"[?&]u(?:ser(?:name)?)?=[^\s&]{1,60}&$",
        examples=("GET /rest/ping.view?u=bob&p=«<l6>-<l4>»&v=1.16",),
        others=("GET /list?p=2&u=bob", "?u=bob&p=profile&v=1"),
        accept=lambda value: stated(value) or ("-" in value and is_word(value)),
    ),
    form(
        "token",
        "code=",
        pattern=rf"code=(?P<s>{_ENCODED}{{24,}}{_PADDING})",
        line=r"(?:[?&]|&amp;)$",
        examples=("https://fn.azurewebsites.net/api/run?code=«<a40>%3D%3D»",),
        others=("?code=authorization-code-goes-in-here", "?code=E1234"),
        accept=_parameter,
    ),
)

_HEX = re.compile(r"[0-9a-f]{24,}", re.IGNORECASE)


def _segment(value: str) -> bool:
    """True for a segment of a path that is made up; the number of a record is a UUID or a short one."""
    return len(value) >= 16 and mixed(value) and random_looking(value) and not _UUID.match(value)


def _key_segment(value: str) -> bool:
    return _segment(value) and not _HEX.fullmatch(value)


_SLASH = r"(?:\\{0,3}/|%2F)"
_MORE = (
    form(
        "token",
        "hash=",
        pattern=rf"hash{_IS}(?P<s>{_ENCODED}{{16,}}{_PADDING})",
        line=r"(?i:(?:auth_date|user|uid|e?mail|token|invite|reset|expires?|signed)[\w.-]{0,20}=[^\s]{0,120}[?&])$",
        examples=("https://acme.dev/reset?user=bob&hash=«<h40>»",),
        others=("GET /assets/logo.png?hash=<h20>", "/app.js?v=2&hash=<a20>"),
        accept=_parameter,
    ),
    *(
        form(
            "API key",
            f"{name}=",
            pattern=rf"{name}{_IS}(?P<s>{_ENCODED}{{16,}}{_PADDING})",
            line=r"(?:[?&]|&amp;|%3F|%26|\\u0026)$",
            examples=(f"https://api.acme.dev/v2/x?q=1&{name}=«<h32>»",),
            others=(f"?{name}=of-the-application-2024", f"?{name}=123e4567-e89b-12d3-a456-426614174000"),
            accept=_parameter,
        )
        for name in (
            "appid",
            "app_id",
            "sid",
            "session",
            "jwt",
            "ticket",
            "hmac",
            "otp",
            "invite",
            "k",
            "t",
        )
    ),
    *(
        form(
            "token",
            f"/{name}/",
            pattern=rf"/{name}/(?:confirm/|accept/|new/)?(?P<s>[\w-]{{16,400}}={{0,2}})(?![\w.-])",
            examples=(f"https://app.acme.dev/{name}/«<a32>»",),
            others=(
                f"https://app.acme.dev/{name}/123e4567-e89b-12d3-a456-426614174000",
                f"https://app.acme.dev/{name}/how-it-works-for-everybody",
                f"src/{name}/index.ts",
            ),
            accept=_segment,
        )
        for name in (
            "reset",
            "reset-password",
            "password-reset",
            "password_reset",
            "invite",
            "invitation",
            "invitations",
            "verify",
            "verify-email",
            "confirm",
            "activate",
            "activation",
            "magic",
            "magic-link",
            "unsubscribe",
            "token",
        )
    ),
    *(
        form(
            "webhook",
            f"/{name}/",
            pattern=rf"/{name}/(?:catch/|incoming/|(?:[\w-]{{1,40}}/)?)(?P<s>[\w-]{{16,400}})(?![\w.-])",
            examples=(f"https://n8n.acme.dev/{name}/«<a24>»",),
            others=(
                f"https://x.dev/{name}/123e4567-e89b-12d3-a456-426614174000",
                f"https://x.dev/{name}/the-name-of-a-page-2",
            ),
            accept=_key_segment,
        )
        for name in ("key", "hook", "hooks", "webhook", "webhooks", "secret")
    ),
    *(
        form(
            "token",
            anchor,
            pattern=rf"{re.escape(anchor)}(?P<s>{body})(?=[/\s\"'?]|$)",
            line=r"[\w.%@/-]$",
            examples=(f"https://acme.dev/x{anchor}«{made}»/y",),
            others=(f"https://acme.dev/x{anchor}the-name-of-2", f"x{anchor}"),
        )
        for anchor, body, made in (
            ("/t/", r"[a-z]{2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "an-<h8>-<h4>-<h4>-<h4>-<h12>"),
            ("/private-", r"[0-9a-f]{32}", "<h32>"),
        )
    ),
    form(
        "webhook",
        "://hook",
        pattern=r"://hooks?\.[\w.-]{3,60}/(?:[\w-]{1,40}/){0,4}(?P<s>[\w-]{16,200})(?![\w/.-])",
        examples=("https://hooks.acme.dev/services/«<a24>»",),
        others=("https://hooks.acme.dev/docs/the-name-of-a-page-2", "https://hook.acme.dev/<h40>"),
        accept=_key_segment,
    ),
    form(
        "stream key",
        "/live2/",
        pattern=r"/live2/(?P<s>[a-z0-9]{4}(?:-[a-z0-9]{4}){3,5})(?!\w)",
        examples=("rtmp://a.rtmp.youtube.com/live2/«<l4>-<l4>-<l4>-<l4>-<l4>»",),
        others=("rtmp://a.rtmp.youtube.com/live2/",),
    ),
    form(
        "webhook",
        "hooks.zapier.com",
        pattern=rf"{_SCHEME}hooks\.zapier\.com{_SLASH}hooks{_SLASH}catch{_SLASH}\d{{4,12}}{_SLASH}\w{{5,20}})",
        back=24,
        examples=("«https://hooks.zapier.com/hooks/catch/<d7>/<l7>»/",),
        others=("https://hooks.zapier.com/hooks/catch/",),
    ),
)

URLS: tuple[Form, ...] = (*_URLS, *_PARAMETERS, *_MORE)
