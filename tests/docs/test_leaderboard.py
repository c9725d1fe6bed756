"""The leaderboard is made from the recorded rows, and says what they say."""

import leaderboard

from noisyrnn.rows import Description, Row, rows_in


def row(model, variant, task, measure, value, seen=False):
    return Row(
        experiment="audit-archive", model=model, description=Description(kind=model, variant=variant), key=variant,
        seed=0, epochs=0, protocol="ours", task=task, data={"kind": "aeon", "seen": seen}, measure=measure, value=value,
    )  # fmt: skip


def test_groups_left_out_are_put_together_and_seen_faults_left_out():
    rows = [
        row("a", "leave one group out, without value", "t", "clean", 90),
        row("a", "leave one group out, without value", "t", "noise", 50),
        row("a", "leave one group out, without timing", "t", "clean", 80),
        row("a", "leave one group out, without timing", "t", "shift", 70),
        row("b", "own faults", "t", "clean", 100),
        row("b", "own faults", "t", "noise", 99, seen=True),
        row("b", "own faults", "t", "shift", 60),
    ]
    found = leaderboard.scores(rows)
    assert found["a", "leave one group out"]["t"] == {"noise": 50, "shift": 70, "clean": 85}
    assert found["b", "own faults"]["t"] == {"shift": 60, "clean": 100}
    assert leaderboard.corruption_error({"clean": 85, "noise": 50, "shift": 70}, {"noise": 75, "shift": 70}) == 1.5


def test_the_page_is_that_of_the_rows():
    rows, torn = rows_in(leaderboard.ROWS)
    assert torn == 0
    assert leaderboard.PAGE.read_text() == leaderboard.page(rows)


def test_every_line_of_the_board_has_its_faults_once():
    for (model, training), sets in leaderboard.scores(rows_in(leaderboard.ROWS)[0]).items():
        if training != "own faults":
            assert {len(one) for one in sets.values()} <= {18, 19}, model  # one channel has no dead one
