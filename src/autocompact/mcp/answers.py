"""What the tools answer. Texts have no secrets; references such as m123 are opened with ``memory_expand``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Hit(BaseModel):
    """A place in the conversation."""

    reference: str = Field(description="What memory_expand opens, e.g. m123")
    source: str = Field(description="Whose words the excerpt is")
    excerpt: str
    time: str = ""
    match: float = Field(description="Share of the query's weight that is there, 0 to 1")
    beside: str = Field(default="", description="The output of the call, or the answer to the question")
    note: str = ""


class Hits(BaseModel):
    """What a search found, likeliest first."""

    conversation: str
    results: list[Hit]
    note: str = Field(default="", description="How well they fit, or what to try")


class Original(BaseModel):
    """An original, or a page of it."""

    conversation: str
    reference: str
    text: str
    next_offset: int | None = Field(default=None, description="Pass it as offset for the next page")
    rest: str = Field(default="", description="The reference that goes on, of a range that was too long")


class Turn(BaseModel):
    """A request of the user, and what was done until the next one."""

    reference: str
    time: str = ""
    request: str
    messages: int
    calls: dict[str, int] = Field(description="Calls by tool")
    changed: list[str] = Field(description="Files that were changed")
    said: str = Field(description="The end of what the agent said last")


class CompactionLine(BaseModel):
    """A compaction: everything through a message left the context but for what was kept."""

    id: str
    through: str = Field(description="Reference of the last message that the summary stands for")
    author: str
    time: str = ""
    tokens_before: int
    tokens_after: int
    active: bool


class Timeline(BaseModel):
    """Requests in order, and the compactions between them."""

    conversation: str
    agent: str
    messages: int
    turns: list[Turn]
    compactions: list[CompactionLine]
    earlier: int = Field(default=0, description="Turns before these, left out: ask with before=")


class Entry(BaseModel):
    """Something that must survive."""

    kind: str
    text: str
    reference: str
    state: str = Field(default="", description="open, done, superseded or withdrawn, where there is evidence")
    subject: str = Field(default="", description="The file, command or name that it is about")


class Entries(BaseModel):
    """Rules, requests, findings, changes ... found without a model, the most needed first."""

    conversation: str
    entries: list[Entry]
    counts: dict[str, int] = Field(description="Of all entries, by kind")
    left_out: int = Field(default=0, description="Entries that did not fit")


class Standing(BaseModel):
    """Entries of one kind."""

    stated: int
    referenced: int
    missing: int


class Checked(BaseModel):
    """What a summary says of a conversation, and what it does not."""

    conversation: str
    through: str = Field(description="Reference of the last message that the summary stands for")
    kinds: dict[str, Standing]
    missing: list[Entry] = Field(description="What is not stated, rules and open requests first")
    left_out: int = Field(default=0, description="Entries that are not stated either, and did not fit")
    contradictions: list[str] = Field(description="What it says against the evidence")
    repair: str = Field(description="A text to put beside the summary")
    missing_after_repair: int


class Preview(BaseModel):
    """What a compaction would do. Nothing was changed."""

    conversation: str
    tokens_before: int = Field(
        description="Of the next request, as its provider counts where it reported usage"
    )
    tokens_after: int
    outside: int = Field(
        description="Tokens of both that the log does not hold and no compaction removes: system prompt, tool schemas, attachments"
    )
    window: int
    through: str = Field(description="Reference of the last message that would be summarised, '' for none")
    rung: str
    stated: int
    referenced: int
    missing: int
    leaving: list[str] = Field(description="The largest parts that would leave, with their tokens")
    summary: str
    note: str = ""


class Pinned(BaseModel):
    """What is pinned in a conversation now."""

    conversation: str
    pinned: list[str]
    note: str


class Undone(BaseModel):
    """A compaction that was taken back."""

    conversation: str
    compaction: str
    tokens_before: int
    tokens_after: int
    note: str
