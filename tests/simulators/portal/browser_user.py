"""A person with Chromium at a payer portal: by mouse, or with the keyboard only."""

from typing import Any

from playwright.sync_api import Browser, Page

from clerkship.formats.pdf_letter.letter import build_text_pdf
from tests.simulators.portal.portal_site import MRI_ANSWERS, REQUEST, RIVERA, SERVICE, PortalSite

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140"}
PDF = build_text_pdf("Progress note of Ana Rivera")
_FIND_ACTIVE = (
    "([name, value]) => document.activeElement.name === name && (!value || document.activeElement.value === value)"
)


class BrowserUser:
    """One browser context on a site. What the browser complains about is in `complaints`."""

    def __init__(self, browser: Browser, site: PortalSite, **options: Any) -> None:
        self.site, self.complaints = site, list[str]()
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda message: self.complaints.append(message.text) if message.type == "error" else None
        )

    def __enter__(self) -> "BrowserUser":
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()

    @property
    def path(self) -> str:
        """The path of the page in the sandbox."""
        return self.page.url.removeprefix(self.site.rig.url()).partition("?")[0]

    def open(self, path: str) -> None:
        self.page.goto(f"{self.site.rig.url()}{path}")

    def sign_in(self) -> None:
        info = self.site.portal.credentials["portal"]
        self.open("/")
        self.page.get_by_label("User name").fill(str(info["username"]))
        self.page.get_by_label("Password").fill(str(info["password"]))
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Sign in").click()

    def fill(self, **fields: str) -> None:
        """Fill in fields by name."""
        for name, value in fields.items():
            field = self.page.locator(f"[name={name}]").first
            kind = field.get_attribute("type")
            if kind == "radio":
                self.page.locator(f"[name={name}][value='{value}']").check()
            elif kind is None:
                field.select_option(value)
            else:
                field.fill(value)

    def press(self, button: str, clicks: int = 1) -> None:
        """Press a button of the form by its value, and wait for the next page."""
        with self.page.expect_navigation():
            self.page.locator(f"button[value='{button}']:not([aria-hidden])").first.click(click_count=clicks)

    def start_request(self) -> None:
        self.open("/drafts")
        with self.page.expect_navigation():
            self.page.locator("main form[action$='/drafts'] button").first.click()

    def answer_questions(self) -> None:
        """Answer the clinical questions as they appear, as `portal_site.answer_questions` does."""
        given: set[str] = set()
        while asked := [name for name in self._list_questions() if name not in given]:
            for name in asked:
                fields = self.page.locator(f"[name={name}]")
                is_radio = fields.first.get_attribute("type") == "radio"
                last = str(fields.last.get_attribute("value")) if is_radio else "9"
                self.fill(**{name: MRI_ANSWERS.get(name, last)})
            given |= set(asked)
            self.press("update")

    def _list_questions(self) -> list[str]:
        fields = self.page.locator("[name^=answer_]").all()
        return list(dict.fromkeys(str(field.get_attribute("name")) for field in fields))

    def submit_in_steps(self, clicks: int = 1) -> None:
        """Fill in the form in steps, as `portal_site.fill_in_steps` does, and submit it."""
        self.start_request()
        self.fill(**RIVERA)
        self.press("find_member")
        self.press("next")
        self.fill(**REQUEST)
        self.press("next")
        self.fill(servicing_npi="1987654320")
        self.press("next")
        self.fill(diagnosis_code="M54.16")
        self.press("add_diagnosis")
        self.press("next")
        self.fill(**SERVICE)
        self.press("add_service")
        self.press("next")
        self.answer_questions()
        self.press("next")
        self.press("next")
        self.page.locator("[name=attest]").check()
        self.fill(**CONTACT)
        self.press("submit", clicks)

    def submit_on_one_page(self) -> None:
        """Fill in the form on one page, as `portal_site.fill_in_one_page` does, and submit it."""
        self.start_request()
        self.fill(**{name: value for name, value in RIVERA.items() if name != "payer"})
        self.press("find_member")
        self.fill(**REQUEST)
        self.press("next")
        self.fill(servicing_npi="1987654320")
        self.press("next")
        self.fill(diagnosis_code="M54.16")
        self.press("add_diagnosis")
        self.fill(**SERVICE)
        self.press("add_service")
        self.answer_questions()
        self.page.locator("[name=attest]").check()
        self.fill(**CONTACT)
        self.press("submit")

    def suggest(self, name: str, words: str) -> str:
        """Type words into a field, and choose the first suggestion; return what the field has then."""
        field = self.page.locator(f"[name={name}]")
        field.press_sequentially(words)
        self.page.get_by_role("listbox").get_by_role("option").first.wait_for()
        field.press("ArrowDown")
        field.press("Enter")
        return field.input_value()

    def upload(self, *names: str) -> None:
        files = [{"name": name, "mimeType": "application/pdf", "buffer": PDF} for name in names]
        self.page.locator("input[type=file]").set_input_files(files)  # type: ignore[arg-type]
        self.press("upload")


class KeyboardUser(BrowserUser):
    """Uses no mouse: moves with Tab, chooses with arrow keys and space."""

    def move_to(self, name: str, value: str = "") -> None:
        """Press Tab until a field or button has the focus."""
        for _ in range(150):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(_FIND_ACTIVE, [name, value]):
                return
        raise AssertionError(f"Tab does not lead to {name} {value}")

    def fill(self, **fields: str) -> None:
        for name, value in fields.items():
            self.move_to(name)
            kind = self.page.evaluate("document.activeElement.type")
            if kind == "radio":
                self._choose(name, value)
            elif kind == "select-one":
                label = self.page.locator(f"[name={name}] option[value='{value}']").inner_text()
                self.page.keyboard.type(label)
            else:
                self.page.keyboard.press("Control+A")
                self.page.keyboard.type(value)

    def _choose(self, name: str, value: str) -> None:
        self.page.keyboard.press("Space")
        for _ in range(self.page.locator(f"[name={name}]").count()):
            if self.page.evaluate("document.activeElement.value") == value:
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{name} has no choice {value}")

    def press(self, button: str, clicks: int = 1) -> None:
        self.move_to("action", button)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
