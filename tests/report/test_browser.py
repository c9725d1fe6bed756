"""The page in a real browser: quiet console, visible figures, nothing scrolls sideways but tables in their boxes."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from noisyrnn.report import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (320, 360, 768, 1280)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium)"),
    pytest.mark.timeout(180),
]

# Windows have a least width, frames have none: the untouched page is measured inside frames as wide as the devices.
PROBE = """
<!doctype html><body><script>
addEventListener("load", () => {
  const measured = [...document.querySelectorAll("iframe")].map(frame => {
    const inner = frame.contentDocument, root = inner.documentElement;
    const all = selector => [...inner.querySelectorAll(selector)];
    const drawings = all("svg.drawing"), ids = all("[id]").map(one => one.id);
    const size = one => { const box = one.getBoundingClientRect(); return [box.width, box.height]; };
    return {
      width: frame.contentWindow.innerWidth, scroll: root.scrollWidth,
      drawings: drawings.map(size),
      outside: drawings.filter(one => one.getBoundingClientRect().right > root.clientWidth).length,
      boxes: all(".box").filter(box => box.offsetParent).map(box => [box.clientWidth, box.scrollWidth]),
      twins: ids.filter((id, place) => ids.indexOf(id) !== place),
      unnamed: drawings.filter(one => one.getAttribute("aria-labelledby").split(" ")
        .some(id => !inner.getElementById(id)?.textContent)).length,
    };
  });
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(measured);
  document.body.append(answer);
});
</script>
"""


def browse(tmp_path: Path, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """One visit with a fresh profile and no traffic."""
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", *options, file.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture
def page(tmp_path: Path, synthetic) -> Path:
    grid = [place / 10 for place in range(1, 13)]
    records = [
        *synthetic.tables(["table-3"], seeds=3),
        *synthetic.tables(["table-1"], seeds=1, epochs=10, overrides={"epochs": 10, "seeds": 1}),
        *synthetic.curves("figure-2", grid, seeds=3),
        *(synthetic.record(model="x" * 80, seed=seed, measure="white", level=0.4, value=90.0) for seed in range(3)),
    ]
    synthetic.write(tmp_path / "rows" / "rows-a.jsonl", records, synthetic.PAPER)
    return report(tmp_path / "rows", tmp_path / "out").html


def test_every_figure_is_visible_and_nothing_scrolls_sideways(page: Path, tmp_path: Path) -> None:
    content = html.escape(page.read_text(encoding="utf-8"))
    frames = (f'<iframe style="border:0;width:{width}px;height:700px" srcdoc="{content}"></iframe>' for width in WIDTHS)
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE + "\n".join(frames), encoding="utf-8")
    answer = re.search(r'<pre id="answer">(.*?)</pre>', browse(tmp_path, probe, "--dump-dom").stdout, re.DOTALL)
    assert answer, "the page was not measured"
    measured = json.loads(html.unescape(answer[1]))
    assert [view["width"] for view in measured] == list(WIDTHS)
    for view in measured:
        assert view["scroll"] <= view["width"], view
        assert len(view["drawings"]) == page.read_text(encoding="utf-8").count('class="drawing"') >= 4
        assert all(width > 200 and height > 100 for width, height in view["drawings"]), view
        assert not view["outside"]
        assert not view["twins"]
        assert not view["unnamed"]
    phone = measured[1]
    assert any(inside > outside for outside, inside in phone["boxes"]), "wide tables scroll inside their own box"


def test_console_stays_quiet(page: Path, tmp_path: Path) -> None:
    visit = browse(tmp_path, page, "--enable-logging=stderr", "--v=0", "--dump-dom")
    assert "</footer>" in visit.stdout
    assert not [line for line in visit.stderr.splitlines() if "CONSOLE" in line]


def test_console_watch_sees_errors(tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text("<!doctype html><script>missing()</script>", encoding="utf-8")
    visit = browse(tmp_path, broken, "--enable-logging=stderr", "--v=0", "--dump-dom")
    assert [line for line in visit.stderr.splitlines() if "CONSOLE" in line]


def test_page_prints(page: Path, tmp_path: Path) -> None:
    paper = tmp_path / "page.pdf"
    browse(tmp_path, page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
