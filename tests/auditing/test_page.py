"""The page: one file, no network, no scripts, every name escaped; and the same page in a real browser."""

from __future__ import annotations

import csv
import html
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from known import Labels, as_module, fitted, waves

from noisyrnn.auditing import Audit, audit
from noisyrnn.auditing.budget import Budget

_visits = importlib.util.spec_from_file_location("visits", Path(__file__).parents[1] / "report" / "test_browser.py")
visits = importlib.util.module_from_spec(_visits)
_visits.loader.exec_module(visits)

FEW = Budget(name="few", series=None, attacked=12, radii=(0.1, 0.4), steps=5, queries=20, smoothed=4, draws=50)
WIDTHS = (360, 390, 768, 1200)

PROBE = """
<!doctype html><body><script>
addEventListener("load", () => {
  const measured = [...document.querySelectorAll("iframe")].map(frame => {
    const inner = frame.contentDocument, root = inner.documentElement;
    const all = selector => [...inner.querySelectorAll(selector)];
    const size = one => { const box = one.getBoundingClientRect(); return [box.width, box.height, box.right]; };
    return {
      width: frame.contentWindow.innerWidth, scroll: root.scrollWidth,
      drawings: all("svg.drawing").map(size), cells: all("td.cell").map(size),
      unnamed: all("svg.drawing").filter(one => !one.getAttribute("aria-label")).length,
      heading: inner.querySelector("h1").getBoundingClientRect().bottom,
    };
  });
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(measured);
  document.body.append(answer);
});
</script>
"""


@pytest.fixture(scope="module")
def found() -> Audit:
    x, y = waves(80, channels=2)
    model = fitted(x[:40], y[:40])
    named = {
        "plain": model,
        "<b>torch & co</b>": as_module(model, 80),
        "labels only": Labels(lambda X: np.where(np.abs(np.diff(X[:, 0])).mean(1) > 0.6, "fast", "slow")),
        "broken": Labels(lambda X: 1 / 0),
    }
    return audit(named, x[40:], y[40:], train=(x[:40], y[:40]), budget=FEW, seen={"plain": ["noise"]})


@pytest.fixture(scope="module")
def page(found: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return found.save(tmp_path_factory.mktemp("page"))


def test_the_page_is_one_file_without_network_or_scripts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"<script|https?://|@import|<link|src=", text)
    assert "<b>torch & co</b>" not in text
    assert "&lt;b&gt;torch &amp; co&lt;/b&gt;" in text
    for words in ("keeps most", "was not attacked: it answers with classes only", "<em>smoothed</em>", "noise *"):
        assert words in text
    assert text.count('class="map"') == 4  # three classifiers and the reference
    assert text.count('<tr><th scope="row">stuck</th>') == 4


def test_every_number_of_the_heat_map_is_that_of_the_table(found: Audit, page: Path) -> None:
    one = page.read_text(encoding="utf-8").split('class="map"')[1]
    shown = re.findall(r'--lost: \d+%">(\d+)</td>', one)
    assert shown == [f"{100 * cell.accuracy.value:.0f}" for cell in found["plain"].cells]


def test_json_and_csv_stand_beside_the_page(found: Audit, page: Path) -> None:
    assert Audit.model_validate_json(page.with_suffix(".json").read_text()) == found
    with page.with_suffix(".csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 4 * (1 + 18 * 5)
    assert float(rows[7]["accuracy"]) == found.table()[7]["accuracy"]


def test_an_audit_of_nothing_but_failures_is_a_page_too(tmp_path: Path) -> None:
    x, y = waves(20)
    found = audit({"broken": Labels(lambda X: 1 / 0)}, x, y, budget=FEW)
    assert "None of the classifiers could be examined" in found.save(tmp_path / "own.html").read_text()
    assert "ZeroDivisionError" in found.summary()


@pytest.mark.skipif(visits.CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium)")
@pytest.mark.timeout(180)
def test_in_a_browser_everything_is_visible_and_nothing_scrolls_sideways(page: Path, tmp_path: Path) -> None:
    content = html.escape(page.read_text(encoding="utf-8"))
    frames = (f'<iframe style="border:0;width:{width}px;height:800px" srcdoc="{content}"></iframe>' for width in WIDTHS)
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE + "\n".join(frames), encoding="utf-8")
    visit = visits.browse(tmp_path, probe, "--dump-dom", "--enable-logging=stderr", "--v=0")
    answer = re.search(r'<pre id="answer">(.*?)</pre>', visit.stdout, re.DOTALL)
    assert answer, "the page was not measured"
    assert not [line for line in visit.stderr.splitlines() if "CONSOLE" in line]
    measured = json.loads(html.unescape(answer[1]))
    assert [view["width"] for view in measured] == list(WIDTHS)
    for view in measured:
        assert view["scroll"] <= view["width"], view["width"]
        assert len(view["drawings"]) == page.read_text(encoding="utf-8").count('class="drawing"') >= 19
        assert all(wide > 100 and high > 50 and right <= view["width"] for wide, high, right in view["drawings"])
        assert all(wide > 15 and high > 10 and right <= view["width"] for wide, high, right in view["cells"])
        assert not view["unnamed"]
        assert view["heading"] < 800, "the verdict is on the first screen"


@pytest.mark.skipif(visits.CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium)")
@pytest.mark.timeout(180)
def test_the_page_prints(page: Path, tmp_path: Path) -> None:
    paper = tmp_path / "page.pdf"
    visits.browse(tmp_path, page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
