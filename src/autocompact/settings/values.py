"""What can be set, as values: the sections of ``settings.json``.

A member stands in the file in camelCase. Its description here is what the schema, the editor and the reference say.
``extra`` marks members that need care: ``project`` says what of them is taken from a project's file, which may have come
with a repository (`autocompact.settings.trust`); ``kind`` says what a text names (``path``, ``prompt``, ``key``).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from autocompact.compaction.record import Placement

Preset: TypeAlias = Literal["50k", "100k", "150k", "200k", "never"]
ModeName: TypeAlias = Literal["default", "database-chat", "usage-driven", "session-layer", "coding-agent"]

Positive: TypeAlias = Annotated[int, Meta(ge=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Dollars: TypeAlias = Annotated[float, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Address: TypeAlias = Annotated[str, Meta(pattern="^https?://", title="an address, http(s)://host[:port]")]
Reference: TypeAlias = Annotated[str, Meta(pattern="^(env|file):.", title="env:NAME or file:PATH")]

OWN: dict[str, str] = {"project": "nothing"}
MODEL: dict[str, str] = {"project": "offline"}
WITHIN: dict[str, str] = {"project": "within"}
PATH: dict[str, str] = {"kind": "path"}
STORE: dict[str, str] = {"kind": "store"}


class Section(Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Members that belong together."""


class SessionTokens(Section, frozen=True):
    """When a conversation is compacted."""

    enabled: Annotated[
        bool, Meta(description="Compact when the threshold is reached; by hand it is always possible.")
    ] = True
    threshold: Annotated[
        Count | Preset | None,
        Meta(
            description="Tokens of the context at which to compact, 0 for never, or a preset; null leaves it to the "
            "mode: 80 % of the model's window, unless `engine.mode` or `engine.ratio` say otherwise. In the gateway, with "
            "a model whose prompt cache has known prices, 60,000 tokens beside prompt and tools or half of a large window, "
            "and three quarters of that where the provider's cache has dropped the conversation."
        ),
    ] = None
    description: Annotated[str, Meta(description="A note on this trigger for its readers; not used.")] = ""


class ObservationAge(Section, frozen=True):
    """What becomes of an agent's observations."""

    enabled: Annotated[bool, Meta(description="Escalate and archive observations.")] = True
    archive_after_days: Annotated[
        Positive, Meta(description="An observation that nobody confirmed for so many days is archived.")
    ] = 28
    escalate_after_confirmations: Annotated[
        Positive, Meta(description="One that was confirmed so many times becomes a rule.")
    ] = 5
    description: Annotated[str, Meta(description="A note on this trigger for its readers; not used.")] = ""


class TaskArchive(Section, frozen=True):
    """What becomes of finished tasks."""

    enabled: Annotated[bool, Meta(description="Archive finished tasks.")] = True
    keep_recent_count: Annotated[Count, Meta(description="The last tasks that stay in detail.")] = 10
    archive_after_sessions: Annotated[
        Positive, Meta(description="Sessions after which the task layer runs, besides its monthly schedule.")
    ] = 20
    description: Annotated[str, Meta(description="A note on this trigger for its readers; not used.")] = ""


class Triggers(Section, frozen=True):
    """When each layer is compacted."""

    session_tokens: SessionTokens = field(default_factory=SessionTokens)
    observation_age: ObservationAge = field(default_factory=ObservationAge)
    task_archive: TaskArchive = field(default_factory=TaskArchive)


class Compaction(Section, frozen=True):
    """Whether, when and how conversations and memory files are compacted."""

    enabled: Annotated[bool, Meta(description="The switch of everything that happens by itself.")] = True
    triggers: Triggers = field(default_factory=Triggers)
    summary_model: Annotated[
        str | None,
        Meta(
            description='Model that makes the summaries: a name, as "claude-haiku-4-5" or "ollama:NAME", a family '
            '("haiku", "sonnet", "opus"; offline where no provider of it has a key), or "offline"; null is the chat\'s own model, and "offline" in the gateway.',
            extra=MODEL,
        ),
    ] = None
    summary_prompt: Annotated[
        str | None,
        Meta(
            description="Prompt of the summary: a shipped one (compact, session, handoff), the path of a SKILL.md, or "
            "the text itself; null is the mode's.",
            extra=WITHIN | {"kind": "prompt"},
        ),
    ] = None
    archive_format: Annotated[
        Literal["markdown-table", "markdown"],
        Meta(
            description="How a new month of TASK_ARCHIVE.md lists its tasks: as a table, or as list items. A month that is "
            "there keeps its form."
        ),
    ] = "markdown-table"
    preserve_token_metrics: Annotated[
        bool, Meta(description="Keep the figures of each compaction with its archive entry.")
    ] = True
    monthly_review: Annotated[bool, Meta(description="Write the monthly report.")] = True


class Engine(Section, frozen=True):
    """How a conversation is compacted; null is as the mode has it."""

    mode: Annotated[ModeName, Meta(description="The named mode that all else starts from.")] = "default"
    ratio: Annotated[
        Share | None,
        Meta(
            description="Share of the window at which to compact, within 0.5..0.95; `threshold` goes before it."
        ),
    ] = None
    target: Annotated[
        Share | None, Meta(description="Share of the threshold that the context takes after a compaction.")
    ] = None
    tail_tokens: Annotated[
        Count | None, Meta(description="Recent messages that stay verbatim, in tokens.")
    ] = None
    summary_tokens: Annotated[
        Positive | None, Meta(description="Size of summary and ledger in the context, in tokens.")
    ] = None
    working_set_tokens: Annotated[
        Count | None,
        Meta(
            description="Files that the agent will probably need next, word for word beside the summary, in tokens; null and "
            "0 keep none, since it reads less again than they take."
        ),
    ] = None
    cap_tokens: Annotated[
        Positive | None, Meta(description="Longest summary asked of a model, in tokens.")
    ] = None
    output_tokens: Annotated[
        Positive | None, Meta(description="Tool outputs are cut to so many tokens in what is summarised.")
    ] = None
    placement: Annotated[
        Placement | None,
        Meta(description='Where the summary goes. In the gateway it is always "user".'),
    ] = None
    background: Annotated[bool | None, Meta(description="Prepare compactions ahead.")] = None
    on_overflow: Annotated[
        Literal["compact", "refuse"] | None,
        Meta(
            description="What to do with a request that would not fit; null compacts unless it is switched off."
        ),
    ] = None


class Models(Section, frozen=True):
    """What is known of models."""

    window: Annotated[
        Positive | None, Meta(description="Tokens of every model's window; null looks each model up.")
    ] = None
    windows: Annotated[
        dict[str, Positive],
        Meta(description="Windows of models by the beginning of their names; they go before what is known."),
    ] = field(default_factory=dict[str, int])
    reserve: Annotated[
        Positive | None, Meta(description="Tokens kept for the reply; null takes a share of the window.")
    ] = None
    ctok: Annotated[
        bool,
        Meta(
            description="Gateway, chat and workers count the tokens of Claude's models with ctok, a reconstruction of their "
            "vocabulary: needs the extra `ctok` and Python 3.12, and is slow."
        ),
    ] = False
    silent_seconds: Annotated[
        Seconds | None,
        Meta(
            description="Seconds without a word of the model after which the chat gives a request up; null is 600 for "
            "an answer, and 120 for a summary."
        ),
    ] = None
    input_prices: Annotated[
        dict[str, Dollars],
        Meta(
            description="US dollars for a million tokens of a request, by the beginning of a model's name; they go "
            "before the table that comes along. Each needs its like in `outputPrices`."
        ),
    ] = field(default_factory=dict[str, float])
    output_prices: Annotated[
        dict[str, Dollars],
        Meta(description="US dollars for a million tokens of a reply, likewise."),
    ] = field(default_factory=dict[str, float])


class Commands(Section, frozen=True):
    """Whether and which commands the chat's agent may run."""

    enabled: Annotated[bool, Meta(description="Offer commands to the agent.", extra=OWN)] = False
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of commands that need no question. Options are covered where the pattern names them: "
            "`git log --oneline`; `-*` names all.",
            extra=OWN,
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...], Meta(description="Patterns of commands that are refused.", extra=OWN)
    ] = ()
    seconds: Annotated[Seconds, Meta(description="How long one may run.", extra=OWN)] = 60.0
    output_bytes: Annotated[
        Positive, Meta(description="Bytes of the output that the model is shown.", extra=OWN)
    ] = 30_000
    sandbox: Annotated[
        bool,
        Meta(
            description="Run them under bubblewrap where the system has it (Linux): they write the workspace alone, and do not see ~/.ssh and other usual places of keys.",
            extra=OWN,
        ),
    ] = True


class Chat(Section, frozen=True):
    """The chat: page, terminal and notebook."""

    model: Annotated[
        str | None,
        Meta(
            description='Model of new conversations; null is the first that the environment offers, else "offline".',
            extra=MODEL,
        ),
    ] = None
    base_url: Annotated[
        Address | None,
        Meta(
            description="Address of the server of OpenAI's API behind models called `compatible:NAME`, mostly with `/v1`; null is "
            "`OPENAI_BASE_URL`. The key of that variable does not go there: paste one on the page.",
            extra=OWN,
        ),
    ] = None
    db: Annotated[
        str | None,
        Meta(
            description="File of the conversations, or `postgresql://…`; null is the file in the user's data folder.",
            extra=OWN | STORE,
        ),
    ] = None
    page: Annotated[bool, Meta(description="Show the page beside the gateway.", extra=OWN)] = True
    page_key: Annotated[
        bool,
        Meta(
            description="Open the page only with the key in the address that the server prints: other users of this "
            "computer cannot open it then.",
            extra=OWN,
        ),
    ] = False
    workspace: Annotated[
        str | None,
        Meta(
            description="Folder that the agent's file tools and commands work in; null is the current one, unless that is a "
            "home folder: then there is none.",
            extra=OWN | PATH,
        ),
    ] = None
    memory_folder: Annotated[
        str | None,
        Meta(
            description="Folder of the memory files; null is that of the project, or yours.",
            extra=WITHIN | PATH,
        ),
    ] = None
    skill_folders: Annotated[
        tuple[str, ...], Meta(description="Folders that hold skills.", extra=WITHIN | PATH)
    ] = ()
    mcp_file: Annotated[str | None, Meta(description="JSON file with `mcpServers`.", extra=OWN | PATH)] = None
    instructions: Annotated[str, Meta(description="What the system prompt says besides its own words.")] = ""
    titles: Annotated[
        bool,
        Meta(
            description="On the page, let the model name a conversation after its first answer, in a small request of its own; "
            "else its first words are its title.",
            extra=OWN,
        ),
    ] = True
    steps: Annotated[Positive, Meta(description="Model calls that one turn may take.", extra=OWN)] = 100
    approval: Annotated[
        Literal["ask", "allow"],
        Meta(
            description='"ask" puts a question to you before the agent writes a file or uses a tool of an MCP server; "allow" '
            "does not. Files that may hold keys or passwords are asked for in any case.",
            extra=OWN,
        ),
    ] = "ask"
    commands: Commands = field(default_factory=Commands)


class Upstreams(Section, frozen=True):
    """Where the gateway sends requests."""

    openai: Annotated[
        Address | None, Meta(description="Base address without /v1; null is no such upstream.", extra=OWN)
    ] = "https://api.openai.com"
    anthropic: Annotated[
        Address | None, Meta(description="Base address without /v1; null is no such upstream.", extra=OWN)
    ] = "https://api.anthropic.com"


class UpstreamKeys(Section, frozen=True):
    """Keys that the gateway brings, in place of the clients' own. It then asks for `accessTokenFile` or `accessKeys`."""

    openai: Annotated[
        Reference | None,
        Meta(description="Where the key is: env:NAME or file:PATH.", extra=OWN | {"kind": "key"}),
    ] = None
    anthropic: Annotated[
        Reference | None,
        Meta(description="Where the key is: env:NAME or file:PATH.", extra=OWN | {"kind": "key"}),
    ] = None


class Limits(Section, frozen=True):
    """What the gateway's clients may ask for."""

    body_bytes: Annotated[Positive, Meta(description="Bytes of a request's body.")] = 64_000_000
    messages: Annotated[Positive, Meta(description="Messages of a request.")] = 100_000
    concurrent: Annotated[Positive, Meta(description="Requests at the same time.")] = 512
    conversations: Annotated[
        Positive, Meta(description="Conversations in memory; the others are found again in the store.")
    ] = 256
    connections: Annotated[Positive, Meta(description="Open connections.")] = 2_048
    head_bytes: Annotated[Positive, Meta(description="Bytes of a request's line and headers.")] = 65_536
    headers: Annotated[Positive, Meta(description="Headers of a request.")] = 128
    head_seconds: Annotated[Seconds, Meta(description="Until a request's head must be there.")] = 20.0
    body_seconds: Annotated[
        Seconds,
        Meta(description="After each of these spans a body must have gained `bodyRate` bytes a second."),
    ] = 20.0
    body_rate: Annotated[Count, Meta(description="Slowest body, in bytes a second.")] = 500
    idle_seconds: Annotated[Seconds, Meta(description="Until a connection without a request is closed.")] = (
        75.0
    )
    send_seconds: Annotated[
        Seconds, Meta(description="Until a client is given up that takes nothing of its answer.")
    ] = 60.0
    drain_seconds: Annotated[
        Seconds, Meta(description="Until an answer that runs is cut once the gateway is told to stop.")
    ] = 10.0


class Gateway(Section, frozen=True):
    """The gateway: `autocompact serve` and `autocompact wrap`."""

    host: Annotated[str, Meta(description="Address to listen on.", extra=OWN)] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65_535)], Meta(description="Port; 0 is any free one.")] = (
        8787
    )
    db: Annotated[
        str | None,
        Meta(
            description="File of the conversations, or `postgresql://…`; null is `gateway.db` in the user's data folder, "
            "`:memory:` keeps none.",
            extra=OWN | STORE,
        ),
    ] = None
    allow_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Further host names by which clients may address it; `*` is any.", extra=OWN),
    ] = ()
    upstreams: Upstreams = field(default_factory=Upstreams)
    upstream_keys: UpstreamKeys = field(default_factory=UpstreamKeys)
    access_token_file: Annotated[
        str | None,
        Meta(
            description="File of the tokens that clients must have where there are `upstreamKeys`.",
            extra=OWN | PATH,
        ),
    ] = None
    access_keys: Annotated[
        bool,
        Meta(
            description="Ask clients for keys that `autocompact keys create` made; belongs to `upstreamKeys`.",
            extra=OWN,
        ),
    ] = False
    traces: Annotated[
        bool,
        Meta(
            description="Make spans of requests for OpenTelemetry, where the process was started with it set up.",
            extra=OWN,
        ),
    ] = False
    fail_closed: Annotated[
        bool, Meta(description="Refuse a request that could not be compacted, instead of forwarding it.")
    ] = False
    memory_tools: Annotated[
        bool, Meta(description="Let the model search what left the context, within its turn.")
    ] = True
    memory_tools_off: Annotated[
        tuple[str, ...],
        Meta(
            description="Models, and clients by their `User-Agent`, that get no memory tools; beginnings of their names."
        ),
    ] = ()
    check_provider_compaction: Annotated[
        bool,
        Meta(
            description="Where the provider compacts by itself: keep the conversation, and put beside the provider's summary "
            "what it lacks."
        ),
    ] = False
    expire_after_days: Annotated[
        Count | None,
        Meta(
            description="Conversations that were not used for so long are removed; null and 0 are never.",
            extra=OWN,
        ),
    ] = None
    limits: Limits = field(default_factory=Limits)


class Settings(Section, frozen=True):
    """Everything that can be set."""

    compaction: Compaction = field(default_factory=Compaction)
    engine: Engine = field(default_factory=Engine)
    models: Models = field(default_factory=Models)
    chat: Chat = field(default_factory=Chat)
    gateway: Gateway = field(default_factory=Gateway)
