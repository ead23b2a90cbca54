"""An agent with a browser: corrects a draft on a payer portal and submits it, with Playwright."""

import re
import shutil

from playwright.sync_api import sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
"""The browser of this machine; if there is none, Playwright takes that of `playwright install chromium`."""


def on_task(task_item, sandboxes):
    """Work on the pages of the payer portal, and return the authorization number."""
    account = sandboxes["portal"].credentials["portal"]
    place = re.search(r"\((\d\d)\)", task_item["instruction"])[1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM)
        page = browser.new_page()
        sign_in(page, account)
        submit_draft(page, place)
        number = re.search(r"authorization number is (\w+)", page.get_by_role("main").inner_text())
        browser.close()
    return number and number[1]


def sign_in(page, account):
    """Sign in as a person does."""
    page.goto(account["portal_url"])
    page.get_by_label("User name").fill(account["username"])
    page.get_by_label("Password").fill(account["password"])
    page.get_by_role("button", name="Sign in").click()


def submit_draft(page, place):
    """Open the only draft, correct the place of service, and submit it."""
    draft = page.get_by_role("link", name="draft_")
    draft.click()
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="Request").click()
    page.get_by_label("Place of service").select_option(place)
    page.get_by_role("button", name="Save and leave").click()
    draft.click()  # at its last step, because nothing is missing
    page.locator("[name=attest]").check()
    page.get_by_role("button", name="Submit the request").click()
