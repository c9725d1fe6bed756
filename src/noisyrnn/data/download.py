"""Fetching over HTTP: resumes what is there, tries again after a pause, and says how far it is."""

from __future__ import annotations

import http.client
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import refuse_beyond

Advance = Callable[[int, int | None], None]
"""Told the bytes so far and the bytes in all, where the server says."""

_BLOCK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP states that may be over in a moment


class Unreachable(DataError):
    """The host cannot be found or reached at all: its other files need not be tried."""


def download(url: str, target: Path, *, advance: Advance, attempts: int = 4, pause: float = 1.0) -> None:
    """``target`` holds what is at ``url``; a part that an earlier call left behind is continued.

    The part lies beside the target with the ending ``.part`` until it is complete, and is then renamed. What is longer
    than the limit for one file is given up as soon as that shows, and its part removed.
    """
    part = target.with_name(target.name + ".part")
    for attempt in range(attempts):
        try:
            _resume(url, part, advance)
        except DataError:
            part.unlink(missing_ok=True)
            raise
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and part.exists():
                part.unlink()  # longer than the file: it belongs to another version
            elif error.code not in _PASSING:
                raise DataError(f"{url} answers {error.code} {error.reason}.") from error
            reason = f"{error.code} {error.reason}"
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            cause = getattr(error, "reason", error)
            if isinstance(cause, socket.gaierror):
                raise Unreachable(f"{url} cannot be reached ({cause.strerror}).") from error
            reason = str(cause) or type(cause).__name__
        else:
            part.replace(target)
            return
        if attempt + 1 < attempts:
            time.sleep(pause * 2**attempt)
    raise Unreachable(f"{url} cannot be fetched after {attempts} attempts ({reason}).")


def _resume(url: str, part: Path, advance: Advance) -> None:
    have = part.stat().st_size if part.exists() else 0
    # Without compression on the way, positions in the part are positions in the file.
    headers = {"User-Agent": "noisyrnn", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT) as answer:
        continues = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        if continues and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            raise ConnectionError("the server continues at another place")
        have = have if continues else 0
        announced = answer.headers.get("Content-Length")
        total = have + int(announced) if announced and announced.isascii() and announced.isdigit() else None
        refuse_beyond(total or 0, f"{url} sends")
        with part.open("ab" if continues else "wb") as stream:
            while block := answer.read(_BLOCK):
                have += len(block)
                refuse_beyond(have, f"{url} sends")
                stream.write(block)
                advance(have, total)
    if total is not None and have < total:
        raise ConnectionError(f"the connection closed after {have} of {total} bytes")
