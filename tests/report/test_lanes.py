"""The sandboxes of a trial over time in the HTML report, with the steps of sequences, in Chromium."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.report.detail import TaskDetail
from clerkship.report.html import render_html
from tests.report import made_up, made_up_calls, made_up_lanes
from tests.report.browser import PROGRAM, ScriptedPage
from tests.report.made_up_lanes import CALLED, CHART_READ, FAXED, FILED, four_sandboxes, sequence
from tests.report.test_calls import call_of
from tests.simulators.voice.call_log_builder import CallLogBuilder

in_browser = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")

LANES = """[...document.querySelectorAll('.lane-name')].slice(0, -1)
    .map((cell) => cell.querySelector('b').textContent + ': ' + cell.querySelector('small').textContent)"""
LABELS = "[...document.querySelectorAll('.lane-mark')].map((mark) => mark.ariaLabel)"
WORDS = "[...document.querySelectorAll('.lane-words li')].map((line) => line.textContent)"
BADGES = """[...document.querySelectorAll('.lane-front .step-badge')].map((badge) => {
    const box = badge.getBoundingClientRect();
    const rows = [...document.querySelectorAll('.lane-row')];
    const row = rows.find((one) => one.getBoundingClientRect().bottom > box.top + 1);
    return [badge.className.split('is-')[1], row.querySelector('b').textContent, Math.round(box.left)];
})"""
SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def open_trial(browser: ScriptedPage, folder: Path, detail: TaskDetail) -> None:
    """Open a report about one trial, and wait until its lanes are drawn."""
    page = folder / "report.html"
    page.write_text(render_html(made_up.RUN.model_copy(update={"total": 1}), made_up.counts([detail]), [detail]))
    browser.send("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(page)
    browser.evaluate(SETTLED)


def open_sequence(browser: ScriptedPage, folder: Path, log: CallLogBuilder, *steps: Any) -> None:
    """Open a report about a trial with one `sequencing` criterion."""
    open_trial(browser, folder, made_up_lanes.trial(log, sequence(log, "In this order", *steps)))


def test_call_has_its_length_and_holds_in_seconds() -> None:
    log = CallLogBuilder()
    made_up_calls.queue_call(log, announcements=2)
    call = call_of(log)
    [(start, end)] = call["holds"]
    assert (start, end) == (4.0, 124.0)
    assert call["length"] > end


@in_browser
def test_each_sandbox_has_a_lane_in_the_order_of_the_environment(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ)
    assert browser.evaluate(LANES) == [
        "ehr: fhir · 3 events",
        "phone: voice · no events",
        "portal: 5 events",
        "fax: 2 events",
        "drop: files · no events",
        "run: 5 events",
    ]
    assert browser.errors == []


@in_browser
def test_conversation_in_one_sandbox_has_no_lanes(browser: ScriptedPage, tmp_path: Path) -> None:
    open_trial(browser, tmp_path, made_up.detail(made_up.task_run("talk"), made_up.chatter(4)))
    assert browser.evaluate("document.querySelector('.sandbox-lanes')") is None


@in_browser
def test_missing_step_is_in_the_lane_of_its_sandbox_behind_the_step_before(
    browser: ScriptedPage, tmp_path: Path
) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ, CALLED, FILED, FAXED)
    badges = browser.evaluate(BADGES)
    assert [(outcome, lane) for outcome, lane, _ in badges] == [
        ("pass", "ehr"),
        ("fail", "phone"),
        ("skipped", "portal"),
        ("skipped", "fax"),
    ]
    assert [x for *_, x in badges] == sorted({x for *_, x in badges})
    missing = "voice.call.ended where outcome is 'completed'"
    assert browser.evaluate("document.querySelector('.step-words').textContent") == f"missing: {missing}"
    assert browser.evaluate(WORDS) == [
        "1found: fhir.resource.read where type is 'Patient' #3",
        f"2missing: {missing}",
        "3not checked, because step 2 is missing: portal.request.filed",
        "4not checked, because step 2 is missing: fax.queued",
    ]
    rows = "[...document.querySelectorAll('.evidence tbody tr')].map((row) => row.className)"
    assert browser.evaluate(rows) == ["is-pass", "is-fail", "is-skipped", "is-skipped"]
    assert browser.evaluate("document.querySelectorAll('line.is-elsewhere').length") == 0


@in_browser
def test_found_steps_are_above_their_events(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(), CHART_READ, CALLED, FILED, FAXED)
    assert [lane for _, lane, _ in browser.evaluate(BADGES)] == ["ehr", "phone", "portal", "fax"]
    away = """[...document.querySelectorAll('.lane-front .step-badge')].map((badge) => {
        const mark = document.querySelector(`.lane-mark[href="${badge.getAttribute('href')}"]`);
        const middle = (node) => node.getBoundingClientRect().left + node.getBoundingClientRect().width / 2;
        return Math.abs(middle(badge) - middle(mark));
    })"""
    assert max(browser.evaluate(away)) < 2


@in_browser
def test_step_that_came_too_early_is_joined_to_its_event(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(), CALLED, CHART_READ)
    assert [(outcome, lane) for outcome, lane, _ in browser.evaluate(BADGES)] == [("pass", "phone"), ("fail", "ehr")]
    assert browser.evaluate("document.querySelectorAll('line.is-elsewhere').length") == 1
    assert browser.evaluate("document.querySelector('.lane-mark.is-cited').getAttribute('href')") == "#t1e3"
    assert "✗ In this order" in browser.evaluate("document.querySelector('.lane-mark.is-cited').ariaLabel")


@in_browser
def test_first_failed_sequence_is_chosen_and_another_can_be(browser: ScriptedPage, tmp_path: Path) -> None:
    log = four_sandboxes()
    found, missing = sequence(log, "Good order", CHART_READ, CALLED), sequence(log, "Bad order", FAXED, FILED)
    open_trial(browser, tmp_path, made_up_lanes.trial(log, found, missing))
    select = "document.querySelector('.sequence-picker select')"
    assert browser.evaluate(f"{select}.selectedOptions[0].textContent") == "✗ Bad order"
    browser.evaluate(f"{select}.value = 0, {select}.dispatchEvent(new Event('change'))")
    assert [outcome for outcome, *_ in browser.evaluate(BADGES)] == ["pass", "pass"]
    browser.evaluate(f"{select}.value = -1, {select}.dispatchEvent(new Event('change'))")
    assert browser.evaluate(BADGES) == []
    assert browser.evaluate(WORDS) == []


@in_browser
def test_hours_without_events_are_drawn_short_and_say_how_long(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ)
    gaps = "[...document.querySelectorAll('.lane-gap')].map((gap) => [gap.textContent, gap.clientWidth])"
    [(text, width)] = browser.evaluate(gaps)
    assert text == "4 h"
    assert 40 < width < 60
    waits = "[...document.querySelectorAll('.lane-bar')].map((bar) => bar.ariaLabel)"
    assert browser.evaluate(waits) == ["signed in as m.okafor, 4 s", "waits, 4 h"]


@in_browser
def test_calls_and_holds_are_bars(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(), CHART_READ)
    bars = browser.evaluate("[...document.querySelectorAll('.lane-bar')].map((bar) => [bar.ariaLabel, bar.hash])")
    assert bars[:2] == [["Call to +15550100300, 5 min 7 s", "#t1c6"], ["on hold, 5 min", "#t1c6"]]
    assert browser.evaluate("document.getElementById('t1c6').className") == "call"


@in_browser
def test_mark_leads_to_its_event_and_opens_a_page_as_sent(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ)
    browser.evaluate(f"document.querySelector('.lane-mark.pages').click(), {SETTLED}")
    assert browser.evaluate("location.hash") == "#t1e7"
    assert browser.evaluate("document.querySelector('.event.aimed').id") == "t1e7"
    assert browser.evaluate("document.querySelector('.event.aimed iframe').checkVisibility()")
    assert browser.errors == []


@in_browser
def test_arrow_keys_move_between_marks_and_show_what_they_stand_for(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ)
    press = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))".format
    assert browser.evaluate("document.querySelectorAll('.lane-mark[tabindex=\"0\"]').length") == 1
    browser.evaluate("document.querySelector('.lane-mark[tabindex=\"0\"]').focus()")
    browser.evaluate(press("ArrowRight"))
    assert browser.evaluate("document.activeElement.hash") == "#t1e4"
    tip = "document.querySelector('.lane-tip:not([hidden])')?.textContent"
    assert "fhir.resource.read" in browser.evaluate(tip)
    browser.evaluate(press("ArrowDown"))
    assert browser.evaluate("document.activeElement.hash") == "#t1e6"
    browser.evaluate(press("Escape"))
    assert browser.evaluate(tip) is None


@in_browser
def test_refusal_has_a_shape_and_a_word(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(calls=False), CHART_READ)
    assert (
        browser.evaluate("document.querySelector('.lane-mark.refused use').getAttribute('href')") == "#icon-cancelled"
    )
    assert "refused: sandbox.refused" in browser.evaluate("document.querySelector('.lane-mark.refused').ariaLabel")


@in_browser
def test_many_events_share_marks_that_list_them(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(reads=3000), CHART_READ, CALLED)
    assert len(browser.evaluate(LABELS)) < 60
    assert browser.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 2000
    browser.evaluate("document.querySelector('.lane-mark.several').click()")
    assert browser.evaluate("document.querySelectorAll('.lane-group li').length") == 40
    assert "more events, in the timeline from #43" in browser.evaluate(
        "document.querySelector('.lane-group p').textContent"
    )
    assert browser.errors == []


@in_browser
@pytest.mark.parametrize("width", [1400, 800])
def test_nothing_is_wider_than_the_window(browser: ScriptedPage, tmp_path: Path, width: int) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(), CALLED, CHART_READ, FAXED)
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.evaluate(SETTLED)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    outside = """(() => {
        const box = (node) => node.getBoundingClientRect();
        const { left, right } = box(document.querySelector('.lane-inner'));
        const names = '.lane-mark, .step-badge, .step-words, .lane-tick';
        const nodes = [...document.querySelector('.lane-inner').querySelectorAll(names)];
        return nodes.filter((one) => box(one).right > right + 1 || box(one).left < left).map((one) => one.className);
    })()"""
    assert browser.evaluate(outside) == []


ZOOM = "[...document.querySelectorAll('.lane-zoom button')]"
RANGE = "document.querySelector('.lane-range').textContent"


def press(browser: ScriptedPage, key: str, selector: str = ".lane-scroll", **more: Any) -> None:
    """Press a key on an element of the lanes, and wait until they are drawn."""
    options = ", ".join(f"{name}: {str(value).lower()}" for name, value in more.items())
    browser.evaluate(
        f"""document.querySelector({selector!r}).dispatchEvent(
            new KeyboardEvent('keydown', {{ key: {key!r}, bubbles: true, {options} }})), {SETTLED}"""
    )


@in_browser
def test_buttons_and_keys_zoom_from_the_whole_run_to_seconds(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(reads=300), CHART_READ)
    whole = browser.evaluate(LABELS)
    assert browser.evaluate(f"{ZOOM}.map((button) => button.disabled)") == [True, False, True]
    browser.evaluate(f"{ZOOM}[1].click(), {SETTLED}")
    first, last = browser.evaluate(RANGE).split(" of the run")[0].split(" to ")
    assert first > "09:00:00"
    assert browser.evaluate(LABELS) != whole
    press(browser, "0")
    browser.evaluate("document.querySelector('.lane-mark[tabindex=\"0\"]').focus()")
    for _ in range(30):
        press(browser, "+", ".lane-mark[tabindex='0']")
    first, last = browser.evaluate(RANGE).split(" of the run")[0].split(" to ")
    seconds = [sum(int(part) * 60**place for place, part in enumerate(reversed(at.split(":")))) for at in (first, last)]
    assert 0 <= seconds[1] - seconds[0] <= 20
    assert len(browser.evaluate(LABELS)) < 100
    press(browser, "0")
    assert browser.evaluate(LABELS) == whole
    assert browser.evaluate(RANGE) == ""
    assert browser.errors == []


@in_browser
def test_wheel_with_ctrl_zooms_around_the_pointer(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(reads=300), CHART_READ)
    browser.evaluate(
        f"""(() => {{
            const axis = document.querySelector('.lane-axis').getBoundingClientRect();
            for (let turn = 0; turn < 8; turn += 1) document.querySelector('.lane-scroll').dispatchEvent(
                new WheelEvent('wheel', {{ deltaY: -200, ctrlKey: true, clientX: axis.left + 20, cancelable: true }}));
            return {SETTLED};
        }})()"""
    )
    assert browser.evaluate(RANGE).startswith("09:00:0")
    wheel = "new WheelEvent('wheel', { deltaY: 9, cancelable: true })"
    assert browser.evaluate(f"document.querySelector('.lane-scroll').dispatchEvent({wheel})")  # the page scrolls


@in_browser
def test_arrow_keys_and_dragging_move_a_zoomed_drawing(browser: ScriptedPage, tmp_path: Path) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(reads=300), CHART_READ)
    browser.evaluate("document.querySelector('.lane-mark[tabindex=\"0\"]').focus()")
    for _ in range(5):
        press(browser, "+", ".lane-mark[tabindex='0']")
    browser.evaluate(f"document.querySelector('.lane-scroll').focus(), {SETTLED}")
    before = browser.evaluate(RANGE)
    press(browser, "ArrowRight")
    moved = browser.evaluate(RANGE)
    assert moved > before
    press(browser, "ArrowLeft")
    assert browser.evaluate(RANGE) == before
    box = browser.evaluate("document.querySelector('.lane-foot').getBoundingClientRect().toJSON()")
    x, y = box["right"] - 200, box["top"] + 5
    for kind, at in (("mousePressed", x), ("mouseMoved", x - 150), ("mouseReleased", x - 150)):
        browser.send("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
    browser.evaluate(SETTLED)
    assert browser.evaluate(RANGE) > before


@in_browser
def test_focus_stays_on_its_event_while_zooming_and_moves_on_out_of_sight(
    browser: ScriptedPage, tmp_path: Path
) -> None:
    open_sequence(browser, tmp_path, four_sandboxes(reads=300), CHART_READ)
    focused = "Number(document.activeElement.dataset.seq)"
    browser.evaluate("document.querySelector('.lane-mark[tabindex=\"0\"]').focus()")
    for _ in range(6):
        press(browser, "+", ".lane-mark[tabindex='0']")
    seq = browser.evaluate(focused)
    assert seq == 3
    seen = [seq]
    for _ in range(12):
        browser.evaluate(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})),"
            + SETTLED
        )
        seen.append(browser.evaluate(focused))
    assert seen == sorted(set(seen))
    assert browser.evaluate("document.activeElement.checkVisibility()")


@in_browser
def test_chosen_criterion_lights_up_its_evidence_and_its_steps(browser: ScriptedPage, tmp_path: Path) -> None:
    log = four_sandboxes(calls=False)
    order = sequence(log, "In this order", CHART_READ, FILED, FAXED)
    other = made_up_calls.cite("Reads the chart", ("read", 4, True), ("read", 5, True))
    open_trial(browser, tmp_path, made_up_lanes.trial(log, order, other))
    lit = "[...document.querySelectorAll('.lane-mark.is-evidence')].map((mark) => Number(mark.dataset.seq))"
    assert browser.evaluate(lit) == []
    browser.evaluate(f"document.querySelector('#t1k1 summary').click(), {SETTLED}")
    assert browser.evaluate(lit) == [4, 5]
    assert browser.evaluate("document.querySelector('.criterion.is-chosen').id") == "t1k1"
    browser.evaluate(f"document.querySelector('#t1k0 summary').click(), {SETTLED}")
    assert browser.evaluate(lit) == [3, 9, 13]
    assert len(browser.evaluate(BADGES)) == 3
    browser.evaluate(f"document.querySelector('#t1k0 summary').click(), {SETTLED}")
    assert browser.evaluate(lit) == []


@in_browser
def test_selected_event_is_linked_with_its_cause_and_effects(browser: ScriptedPage, tmp_path: Path) -> None:
    log = four_sandboxes(calls=False)
    shown = made_up_lanes.trial(log, sequence(log, "In this order", CHART_READ))
    for seq, cause in ((6, 3), (9, 6), (12, 9)):
        shown.events[seq - 1]["cause"] = cause
    open_trial(browser, tmp_path, shown)
    links = """[...document.querySelectorAll('.lane-front line:is(.is-cause, .is-effect)')]
        .map((line) => line.getAttribute('class'))"""
    assert browser.evaluate(links) == []
    browser.evaluate(f"location.hash = '#t1e9', {SETTLED}")
    assert browser.evaluate(links) == ["is-cause", "is-cause", "is-effect"]
    assert browser.evaluate("document.querySelector('.lane-mark.is-selected').dataset.seq") == "9"
