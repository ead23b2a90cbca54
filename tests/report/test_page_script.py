"""The script of the HTML report in Chromium: filters, groups, sorting, search, keys and code."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import FieldCheck
from clerkship.model.usage import Usage
from clerkship.report.detail import TaskDetail
from clerkship.report.html import render_html
from tests.report import made_up
from tests.report.browser import PROGRAM, ScriptedPage

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")

SEEN_TASKS = """[...document.querySelectorAll('.trials-body > [role=row]:not([hidden], .inner) .name')]
    .map((name) => name.textContent)"""
OPEN_TRIALS = "[...document.querySelectorAll('.inner:not([hidden]) .name')].map((name) => name.textContent)"
STATUS = "document.querySelector('.shown').textContent"
SELECTED = "document.querySelector('#trial h2').textContent"


def trial(task: str, number: int = 1, said: str = "Good morning.", **changes: Any) -> TaskDetail:
    """Return a trial; a failed one has a failed criterion."""
    wall_ms = changes.pop("wall_ms", 1000)
    if changes.get("verdict") == "fail":
        changes = {"score": 0.0, "criteria": (made_up.criterion("Books `it`"),)} | changes
    detail = made_up.detail(made_up.task_run(task, trial=number, **changes), made_up.log(said))
    return replace(detail, sidecar={"wall_ms": wall_ms})


def desk() -> list[TaskDetail]:
    """Return three tasks with two trials each: one is flaky, one fails, one passes."""
    cost = {"models": {"judge": Usage(calls=1, cost=0.5)}}
    return [
        trial("Flaky `one`", 1, verdict="fail", tags=("desk",)),
        trial("Flaky `one`", 2, "The code is `Z-17`, in the week of Monday.", **cost),
        trial("Bad one", 1, verdict="fail", wall_ms=9000),
        trial("Bad one", 2, verdict="fail", wall_ms=7000),
        trial("All good", 1, "Nothing to see."),
        trial("All good", 2),
    ]


def open_page(browser: ScriptedPage, folder: Path, details: list[TaskDetail]) -> None:
    """Open a report about these trials."""
    run = made_up.RUN.model_copy(update={"total": len(details), "trials": 2})
    page = folder / "report.html"
    page.write_text(render_html(run, made_up.counts(details), details), encoding="utf-8")
    browser.open(page)


def click(browser: ScriptedPage, selector: str) -> None:
    """Click an element, and let the page handle a change of its address."""
    browser.evaluate(f"document.querySelector({selector!r}).click(), new Promise((done) => setTimeout(done))")


def search(browser: ScriptedPage, text: str) -> None:
    """Type words into the search field, and wait until the search has ended."""
    browser.evaluate(
        f"""(async () => {{
            const input = document.querySelector('#list input');
            input.focus();
            input.value = {text!r};
            input.dispatchEvent(new Event('input'));
            while ({STATUS}.startsWith('Searching')) await new Promise((done) => setTimeout(done));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }})()"""
    )


def test_trials_are_grouped_by_task_with_the_first_failure_open(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    assert browser.evaluate(SEEN_TASKS) == ["Bad one", "Flaky one", "All good"]
    assert browser.evaluate(OPEN_TRIALS) == ["Trial 1", "Trial 2"]
    assert browser.evaluate(SELECTED) == "Bad one"
    results = "[...document.querySelectorAll('.row-of-task .column-result')].map((cell) => cell.textContent)"
    assert browser.evaluate(results) == ["0 of 2", "1 of 2", "2 of 2"]
    assert (
        browser.evaluate("document.querySelector('.row-of-task.is-flaky .meta').textContent")
        == "flaky · 1 fail, 1 pass"
    )
    assert browser.errors == []


def test_failed_trials_of_a_task_come_before_passed_ones(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, [trial("Coin", 1), trial("Coin", 2, verdict="fail"), trial("Coin", 3)])
    assert browser.evaluate(OPEN_TRIALS) == ["Trial 2", "Trial 1", "Trial 3"]
    assert browser.evaluate("document.querySelector('#trial .verdict strong').textContent") == "Fail"


def test_task_row_opens_and_closes(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    click(browser, ".row-of-task.is-flaky button")
    assert browser.evaluate(OPEN_TRIALS) == ["Trial 1", "Trial 2"] * 2
    assert browser.evaluate("document.querySelector('.is-flaky button[aria-expanded]').ariaExpanded") == "true"
    click(browser, ".row-of-task.is-flaky button")
    assert browser.evaluate(OPEN_TRIALS) == ["Trial 1", "Trial 2"]


def test_every_count_of_the_overview_shows_exactly_that_many_trials(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, [*desk(), *made_up.every_outcome()])
    counted = browser.evaluate(
        """[...document.querySelectorAll('.tally button, .row-button')].map((button) => {
            button.click();
            const shown = Number(document.querySelector('.shown').textContent.split(' ')[0]);
            const pressed = button.ariaPressed;
            button.click();
            const count = Number(button.querySelector('b').textContent);
            const flaky = button.closest('[data-by=flaky]');
            const total = flaky ? Number(button.querySelector('.row-count').textContent.split(' of ')[1]) : count;
            return [total, shown, pressed];
        })"""
    )
    assert len(counted) > 15
    assert [(count, "true") for count, _, _ in counted] == [(shown, pressed) for _, shown, pressed in counted]
    assert browser.evaluate(STATUS) == "16 trials of 13 tasks."
    assert browser.errors == []


def test_filters_combine_and_can_be_removed(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    click(browser, ".breakdown[data-by=criterion] button")
    assert browser.evaluate(STATUS) == "3 of 6 trials of 2 tasks."
    click(browser, ".chip.is-flaky")
    assert browser.evaluate(SEEN_TASKS) == ["Flaky one"]
    assert browser.evaluate(STATUS) == "1 of 6 trials of 1 task."
    assert browser.evaluate(SELECTED) == "Flaky one"
    active = "[...document.querySelectorAll('.active-filter')].map((button) => button.ariaLabel)"
    assert browser.evaluate(active) == ["Remove the filter Flaky tasks", "Remove the filter Criterion: Books it"]
    click(browser, ".active-filter")
    assert browser.evaluate(SEEN_TASKS) == ["Bad one", "Flaky one"]
    click(browser, ".active-filter")
    assert browser.evaluate(STATUS) == "6 trials of 3 tasks."


@pytest.mark.parametrize(
    ("column", "orders"),
    [
        (
            "name",
            [("ascending", ["All good", "Bad one", "Flaky one"]), ("descending", ["Flaky one", "Bad one", "All good"])],
        ),
        (
            "seconds",
            [("descending", ["Bad one", "Flaky one", "All good"]), ("ascending", ["Flaky one", "All good", "Bad one"])],
        ),
        (
            "cost",
            [("descending", ["Flaky one", "Bad one", "All good"]), ("ascending", ["Flaky one", "Bad one", "All good"])],
        ),
        (
            "result",
            [("descending", ["All good", "Flaky one", "Bad one"]), ("ascending", ["Bad one", "Flaky one", "All good"])],
        ),
    ],
)
def test_columns_sort_the_tasks_and_say_so(
    browser: ScriptedPage, tmp_path: Path, column: str, orders: list[tuple[str, list[str]]]
) -> None:
    open_page(browser, tmp_path, desk())
    for direction, tasks in orders:
        click(browser, f".trials-head .column-{column} button")
        assert browser.evaluate(f"document.querySelector('.trials-head .column-{column}').ariaSort") == direction
        assert browser.evaluate(SEEN_TASKS) == tasks
    assert browser.evaluate("document.querySelectorAll('[aria-sort=none]').length") == 3


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("z-17", ["Flaky one"]),
        ('"week of monday" CODE', ["Flaky one"]),
        ("cancelled", ["Bad one", "Flaky one"]),
        ("list_files", ["Bad one", "Flaky one", "All good"]),
        ("desk", ["Flaky one"]),
        ("nothing monday", []),
        ("", ["Bad one", "Flaky one", "All good"]),
    ],
)
def test_search_finds_words_in_conversations_evidence_events_and_tags(
    browser: ScriptedPage, tmp_path: Path, text: str, tasks: list[str]
) -> None:
    open_page(browser, tmp_path, desk())
    search(browser, text)
    assert browser.evaluate(SEEN_TASKS) == tasks
    assert browser.errors == []


def test_search_shows_the_place_and_links_to_it(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    search(browser, "monday")
    snippet = ".snippet:not([hidden])"
    assert "Agent, turn 1 The code is Z-17, in the week of Monday." in browser.evaluate(
        f"document.querySelector('{snippet}').textContent"
    )
    assert browser.evaluate(f"document.querySelector('{snippet} mark').textContent") == "Monday"
    click(browser, f"{snippet} a")
    assert browser.evaluate(SELECTED) == "Flaky one"
    assert browser.evaluate("document.activeElement.closest('.event').id").endswith("e3")
    assert browser.evaluate("document.querySelector('.hits h3').textContent") == "Found in 2 places of this trial"
    in_payload = (
        "[...CSS.highlights.get('found')].some((range) => range.startContainer.parentElement.closest('.panel'))"
    )
    assert browser.evaluate(in_payload)
    search(browser, "")
    assert browser.evaluate("document.querySelector('.hits').hidden")


def test_search_of_many_trials_ends_and_says_what_is_not_in_the_page(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, [*made_up.many(1_000), trial("The last", said="A zebra.", verdict="fail")])
    search(browser, "zebra")
    assert browser.evaluate(SEEN_TASKS) == ["The last"]
    status = browser.evaluate(STATUS)
    assert status.startswith("1 of 1,001 trials. Not searched: events of ")
    assert browser.errors == []


def test_search_works_in_slices_and_lets_other_work_run_between_them(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    reports = browser.evaluate(
        """new Promise((finish) => {
            const seen = [];
            let clock = 0;
            performance.now = () => (clock += 5);
            const shown = document.querySelector('.shown');
            const see = () => {
                if (seen.at(-1) !== shown.textContent) seen.push(shown.textContent);
                if (!shown.textContent.startsWith('Searching')) finish(seen);
            };
            new MutationObserver(see).observe(shown, { childList: true, characterData: true, subtree: true });
            const input = document.querySelector('#list input');
            input.value = 'z-17';
            input.dispatchEvent(new Event('input'));
            seen.push('other work');
        })"""
    )
    assert reports == [
        "other work",
        "Searching: 2 of 6 trials",
        "Searching: 4 of 6 trials",
        "1 of 6 trials of 1 task.",
    ]


def test_text_in_backticks_is_code_everywhere_in_the_trial(browser: ScriptedPage, tmp_path: Path) -> None:
    said = "Use `a<b>` and ```\nx\ny```."
    check = FieldCheck(path="before `fax.sent`", expected={"in": ["`one`"]}, actual="`two` by agent", passed=False)
    failed = made_up.criterion("Books `it`", detail="#3 is not `booked`", evidence=(check,))
    run = made_up.task_run("Do `this`", verdict="fail", score=0.0, criteria=(failed,), error="no `file`", tags=("`t`",))
    open_page(browser, tmp_path, [made_up.detail(run, made_up.log(said))])
    browser.evaluate(
        "document.querySelectorAll('.command-line').forEach((line) => line.remove())"
    )  # has the whole name
    shown = browser.evaluate("document.body.innerText")
    assert "`" not in shown
    codes = browser.evaluate("[...document.querySelectorAll('#trial code')].map((code) => code.textContent)")
    assert {"this", "it", "booked", "file", "t", "a<b>", "x\ny", "fax.sent", "one", "two"} <= set(codes)
    assert browser.evaluate("document.querySelectorAll('#trial b b').length") == 0


def test_keys_move_through_trials_in_the_order_of_the_list(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    press = """document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true })),
        new Promise((done) => setTimeout(done))"""
    seen = []
    for _ in range(3):
        browser.evaluate(press)
        seen.append(browser.evaluate("document.querySelector('#list [aria-current]').closest('.inner').textContent"))
    assert [text[:7] for text in seen] == ["Trial 2", "Trial 1", "Trial 2"]
    assert browser.evaluate(SELECTED) == "Flaky one"
    assert browser.evaluate(OPEN_TRIALS) == ["Trial 1", "Trial 2"] * 2


def test_arrow_down_on_a_task_selects_its_first_trial(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    browser.evaluate(
        """(() => {
            const task = document.querySelector('.row-of-task.is-pass button');
            task.focus();
            task.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
            return new Promise((done) => setTimeout(done));
        })()"""
    )
    assert browser.evaluate(SELECTED) == "All good"
    assert browser.evaluate("document.activeElement.querySelector('.name').textContent") == "Trial 1"
    assert browser.evaluate("document.activeElement.ariaCurrent") == "true"


def test_chip_for_all_trials_removes_every_filter(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    click(browser, ".breakdown[data-by=tag] button")
    click(browser, ".tally .is-fail button")
    assert browser.evaluate("document.querySelector('.chip').ariaPressed") == "false"
    click(browser, ".chip")
    assert browser.evaluate("document.querySelector('.chip').ariaPressed") == "true"
    assert browser.evaluate(STATUS) == "6 trials of 3 tasks."


def test_page_without_trials_raises_no_error(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, [])
    search(browser, "word")
    for place, key in (("body", "j"), ("#list input", "Enter"), ("#list input", "Escape")):
        browser.evaluate(
            f"""document.querySelector({place!r})
                .dispatchEvent(new KeyboardEvent('keydown', {{ key: {key!r}, bubbles: true }}))"""
        )
    assert browser.errors == []
    assert browser.evaluate(STATUS) == "0 trials."


def test_hostile_strings_raise_no_error_and_add_no_element(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, made_up.hostile())
    search(browser, "alert")
    assert browser.errors == []
    assert browser.evaluate("document.querySelectorAll('#list img, #trial img, header img, #trial script').length") == 0
    assert browser.evaluate(STATUS) == "1 trial."


def test_address_of_the_failure_leads_to_the_first_failed_criterion(browser: ScriptedPage, tmp_path: Path) -> None:
    criteria = (made_up.criterion("Passes", passed=True), made_up.criterion("Fails"))
    open_page(browser, tmp_path, [trial("All good"), trial("Bad one", verdict="fail", criteria=criteria)])
    browser.evaluate("location.hash = '#failed', new Promise((done) => setTimeout(done))")
    assert browser.evaluate(SELECTED) == "Bad one"
    assert browser.evaluate("document.activeElement.querySelector('.label').textContent") == "Failed Fails"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight / 2")


def test_path_breaks_only_after_dots_and_slashes(browser: ScriptedPage, tmp_path: Path) -> None:
    check = FieldCheck(path="entry.0/resource", expected="a", actual="b", passed=False)
    open_page(browser, tmp_path, [trial("Bad one", verdict="fail", criteria=(made_up.criterion(evidence=(check,)),))])
    path = "document.querySelector('.evidence tbody th > span:last-child').innerHTML"
    assert browser.evaluate(path) == "entry.<wbr>0/<wbr>resource<wbr>"


def open_address(browser: ScriptedPage, page: Path, query: str) -> None:
    """Open a report with a query in its address."""
    browser.send("Page.navigate", url=f"{page.as_uri()}{query}")
    browser.evaluate(
        """new Promise((done) => {
            const look = () => (document.querySelector('.shown') ? done() : setTimeout(look, 10));
            look();
        })"""
    )


def test_filters_stand_in_the_address_and_hold_when_it_is_opened(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    click(browser, ".tally .is-fail button")
    click(browser, ".breakdown[data-by=tag] button")
    search(browser, "monday")
    search(browser, "cancelled")
    assert browser.evaluate("[...new URLSearchParams(location.search)]") == [
        ["outcome", "fail"],
        ["tag", "made-up"],
        ["q", "cancelled"],
    ]
    status = browser.evaluate(STATUS)
    address = browser.evaluate("location.search + location.hash")
    open_address(browser, tmp_path / "report.html", address)
    assert browser.evaluate(STATUS) == status
    assert browser.evaluate("document.querySelector('#list input').value") == "cancelled"
    assert browser.evaluate("document.querySelector('.tally .is-fail button').ariaPressed") == "true"
    click(browser, ".chip")
    search(browser, "")
    assert browser.evaluate("location.search") == ""
    assert browser.errors == []


def test_going_back_restores_the_filters_of_that_time(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    click(browser, ".tally .is-fail button")
    filtered = browser.evaluate(STATUS)
    browser.evaluate("location.hash = '#t2', new Promise((done) => setTimeout(done))")
    click(browser, ".tally .is-fail button")
    assert browser.evaluate(STATUS) == "6 trials of 3 tasks."
    browser.evaluate(
        "history.back(), new Promise((done) => addEventListener('popstate', () => setTimeout(done), { once: true }))"
    )
    assert browser.evaluate(STATUS) == filtered


def test_unknown_row_in_the_address_is_left_out(browser: ScriptedPage, tmp_path: Path) -> None:
    open_page(browser, tmp_path, desk())
    open_address(browser, tmp_path / "report.html", "?tag=nowhere&outcome=pass")
    assert browser.evaluate(STATUS) == "3 of 6 trials of 2 tasks."


def drawn_rows(browser: ScriptedPage) -> list[int]:
    """Return the numbers of the rows that are elements."""
    rows = "[...document.querySelectorAll('.trials-body > [role=row]')].map((row) => Number(row.ariaRowIndex))"
    numbers: list[int] = browser.evaluate(rows)
    return numbers


FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


@pytest.fixture(scope="module")
def many_trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of 10,000 trials without events."""
    one = made_up.detail(made_up.task_run("Any"), [])
    names = (f"Call {number:05} about the referral" for number in range(1, 10_001))
    details = [replace(one, task_run=one.task_run.model_copy(update={"task": name})) for name in names]
    page = tmp_path_factory.mktemp("many") / "report.html"
    run = made_up.RUN.model_copy(update={"total": len(details)})
    page.write_text(render_html(run, made_up.counts(details), details), encoding="utf-8")
    return page


def test_only_rows_in_sight_of_ten_thousand_are_elements(browser: ScriptedPage, many_trials: Path) -> None:
    browser.open(many_trials)
    assert browser.evaluate("document.querySelector('[role=table]').ariaRowCount") == "10001"
    rows = drawn_rows(browser)
    assert 5 < len(rows) < 200
    assert rows == list(range(2, len(rows) + 2))
    for top in (100_000, 300_000, 2, 620_000):
        browser.evaluate(f"document.querySelector('.trials-body').scrollTop = {top}, {FRAME}")
        rows = drawn_rows(browser)
        assert 5 < len(rows) < 200
        seen = """(() => {
            const box = document.querySelector('.trials-body').getBoundingClientRect();
            return [1, box.height / 2, box.height - 2].map((y) =>
                document.elementFromPoint(box.left + 40, box.top + y).closest('[role=row]') !== null);
        })()"""
        browser.evaluate("document.querySelector('.trials-body').scrollIntoView({ block: 'center' })")
        assert browser.evaluate(seen) == [True, True, True]
    assert browser.errors == []


def test_keys_go_to_rows_out_of_sight(browser: ScriptedPage, many_trials: Path) -> None:
    browser.open(many_trials)
    browser.evaluate(f"location.hash = '#t9000', {FRAME}")
    current = "document.querySelector('.trials-body [aria-current]').hash"
    assert browser.evaluate(current) == "#t9000"
    inside = """(() => {
        const box = document.querySelector('.trials-body').getBoundingClientRect();
        const row = document.querySelector('[aria-current]').closest('[role=row]').getBoundingClientRect();
        return row.top >= box.top - 1 && row.bottom <= box.bottom + 1;
    })()"""
    assert browser.evaluate(inside)
    browser.evaluate("document.querySelector('[aria-current]').focus()")
    for _ in range(15):
        browser.evaluate(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true })),"
            + FRAME
        )
    assert browser.evaluate("document.activeElement.hash") == "#t9015"
    assert browser.evaluate(inside)
    browser.evaluate(f"document.querySelector('.trials-body').scrollTop = 0, {FRAME}")
    assert browser.evaluate("document.activeElement.hash") == "#t9015"  # the focus is not lost
    assert len(drawn_rows(browser)) < 200


def test_long_log_has_few_rows_and_shows_any_event(browser: ScriptedPage, tmp_path: Path) -> None:
    run = made_up.task_run("it goes on", verdict="fail", score=0.0, criteria=(made_up.criterion(),), events=5_000)
    open_page(browser, tmp_path, [made_up.detail(run, made_up.chatter(5_000))])
    events = "document.querySelectorAll('.event').length"
    assert browser.evaluate(events) < 200
    browser.evaluate(f"location.hash = '#t1e4321', {FRAME}.then(() => {FRAME})")
    assert browser.evaluate("document.activeElement.closest('.event').id") == "t1e4321"
    middle = "document.activeElement.getBoundingClientRect().top / innerHeight"
    assert 0.1 < browser.evaluate(middle) < 0.9
    assert browser.evaluate("document.querySelector('.event.aimed .panel').checkVisibility()")
    assert browser.evaluate(events) < 200
    for _ in range(3):  # rows are higher than was guessed
        browser.evaluate(f"scrollTo(0, document.body.scrollHeight), {FRAME}")
    assert browser.evaluate("[...document.querySelectorAll('.event')].at(-1).id") == "t1e5000"
    assert browser.errors == []
