"""The demonstration: a page by itself that begins with its outcome, and a table with the same numbers."""

import re

from noisyrnn.estimator.demonstration import demonstrate, page, summary


def test_the_page_begins_with_the_outcome_and_has_every_row_of_the_table():
    told = []
    found = demonstrate(epochs=1, series=100, told=told.append)
    assert len(told) == 5
    text = page(found)
    assert text.index(found.outcome.split(";")[0]) < text.index("<table>")
    table = summary(found)
    for name, plain, robust in re.findall(r"^(\S.*?)  +([\d.]+)  +([\d.]+)$", table, flags=re.MULTILINE):
        assert f"<tr><td>{name}</td><td>{plain}</td><td>{robust}</td></tr>" in text
    assert text.count("<tr>") == 1 + 1 + 12 + 2
    assert "http" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert "not run" not in text
