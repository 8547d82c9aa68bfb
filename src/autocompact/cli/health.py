"""``autocompact doctor`` and ``autocompact backup``: whether the store of the kept conversations is well, and a copy of its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from autocompact.cli.defaults import database
from autocompact.cli.running import run
from autocompact.cli.sources import deliver
from autocompact.cli.store_options import db_option, json_option
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput
from autocompact.history import database_path
from autocompact.stores import doctor as doctors
from autocompact.stores.backup import back_up
from autocompact.stores.doctor import Examination
from autocompact.stores.naming import ServerUrl, StorePlace
from autocompact.stores.server_doctor import examine_server
from autocompact.ui.terminal.output import display, progress, tell
from autocompact.ui.text import visible

HEALTHY, ILL = 0, 1


@click.command()
@click.option("--deep", is_flag=True, help="Compare every word of a large search index with the messages.")
@click.option("--seal", is_flag=True, help="First give messages of older versions a checksum.")
@click.option(
    "--rescue",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Copy what can be read of a damaged store into the new FILE instead.",
)
@json_option
@db_option
def doctor(*, deep: bool, seal: bool, rescue: Path | None, as_json: bool, db: StorePlace | None) -> int:
    """Look at the whole store: damage, gaps, what points nowhere, its search index, its modes, the disk.

    Only --seal changes the file. Of a store on a server everything is read and compared with its checksums; pages and indexes
    are for PostgreSQL's own pg_amcheck. Exit codes: 0 all is well, 1 something is wrong, 2 it cannot be looked at.

    --rescue makes a new store, for you alone, whole and checked or not at all. Messages keep their numbers: in the place of
    one that cannot be read stands a note. What was lost is listed; the damaged file stays as it is. Exit codes: 0 nothing is
    lost, 1 something is, 2 there is no new file.
    """
    if rescue is not None:
        if seal or deep:
            raise InvalidInput("--rescue makes a new file of what can be read: leave --seal and --deep out")
        return _rescued(_file(db), rescue, as_json=as_json)
    place = database(db) or database_path()
    with progress(f"Examining {place}"):
        if isinstance(place, ServerUrl):
            found = run(examine_server(place))
        else:
            if seal:
                tell(f"{plural(doctors.seal(place.absolute()), 'message')} got a checksum")
            found = doctors.examine(place.absolute(), deep=deep)
    deliver([_document(found)], None) if as_json else display("\n".join(_lines(found)))
    return ILL if found.problems else HEALTHY


def _rescued(source: Path, target: Path, *, as_json: bool) -> int:
    from autocompact.history.archive import encode
    from autocompact.stores.rescue import rescue

    with progress(f"Reading {source}"):
        rescued = run(rescue(source, target))
    losses = rescued.losses
    if as_json:
        counts = rescued.examination.counts
        document = {"file": str(target), "counts": counts, "losses": [asdict(loss) for loss in losses]}
        deliver([encode(document) + b"\n"], None)
    else:
        lost = [f"lost     {visible(loss.where)}: {visible(loss.what)}" for loss in losses]
        head = click.style(f"{target}: {_figures(rescued.examination)}, checked", bold=True)
        display(
            "\n".join(
                [head, *lost, "nothing is lost" if not losses else plural(len(losses), "loss", many="losses")]
            )
        )
    return ILL if losses else HEALTHY


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is there.")
@db_option
def backup(file: Path, *, overwrite: bool, db: StorePlace | None) -> None:
    """Copy the store to FILE while it is in use, and check the copy.

    The copy is one file, for you alone; `--db FILE` opens it. It is there whole and checked, or not at all.
    """
    source = _file(db)
    with progress(f"Copying {source}"):
        found = back_up(source, file, overwrite=overwrite)
    tell(f"{file}: {_figures(found)}, checked")


def _file(given: StorePlace | None) -> Path:
    place = database(given) or database_path()
    if isinstance(place, ServerUrl):
        raise InvalidInput(
            f"{place} is no file: PostgreSQL's own `pg_dump` copies it, or `autocompact move --from URL --to FILE`"
        )
    return place.absolute()


def _figures(found: Examination) -> str:
    counts = found.counts
    kinds = ("conversation", "message", "compaction")
    figures = [plural(counts.get(f"{kind}s", 0), kind) for kind in kinds]
    return ", ".join([*figures, *([plural(counts["bytes"], "byte")] if "bytes" in counts else [])])


def _lines(found: Examination) -> Iterator[str]:
    yield click.style(f"{found.place}: {_figures(found)}", bold=True)
    for finding in found.findings:
        yield f"{finding.level:<8} {finding.check}: {visible(finding.where)}: {visible(finding.what)}"
        yield f"{'':<8} next: {finding.next}"
    wrong = len(found.problems)
    yield plural(wrong, "problem") if wrong else "all is well"


def _document(found: Examination) -> bytes:
    from autocompact.history.archive import encode

    findings = [asdict(finding) for finding in found.findings]
    document = {
        "file": str(found.place),
        "healthy": not found.problems,
        "counts": found.counts,
        "findings": findings,
    }
    return encode(document) + b"\n"
