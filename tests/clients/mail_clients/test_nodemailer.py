"""nodemailer, from npm, sends e-mail over SMTP with STARTTLS and with implicit TLS."""

import json
import subprocess

from tests.clients.conftest import NODE, installed
from tests.simulators.messages.email.served import ANA, OWN, SmtpClinic


def test_nodemailer_sends_and_is_refused(clinic: SmtpClinic) -> None:
    folder = installed("nodemailer")
    info = clinic.connection_info
    words = [str(folder), str(clinic.port), clinic.user, clinic.password, str(info["certificate"]), OWN, ANA]
    implicit = clinic.handle.listeners["smtps"]
    words += [str(implicit["port"]), str(implicit["certificate"])]
    done = subprocess.run(
        ["node", str(NODE / "mail_send.mjs"), *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["sent"] == {"accepted": [ANA, "hidden@home.example"], "rejected": [], "code": 250}
    assert output["secure"] == {"accepted": [ANA], "rejected": [], "code": 250}
    assert output["partly"] == {"accepted": [ANA], "rejected": ["nobody@clinic.example"], "code": 250}
    codes = {name: output[name]["code"] for name in ("spoofed", "foreign", "large", "login")}
    assert codes == {"spoofed": 550, "foreign": 553, "large": 552, "login": 535}
    first, inline, second = clinic.sent()
    raw = clinic.handle.request("GET", f"/messages/{inline.header.id}/raw").body
    assert b"content-id: <card@clinic.example>" in raw.lower()
    assert (first.header.subject, first.header.bcc) == ("Résumé – 予約 ✓", ("hidden@home.example",))
    assert first.text == "Grüße\n.\n..dots\n" + "long " * 400
    assert first.html == "<p>Grüße</p>"
    (attachment,) = first.header.attachments
    assert (attachment.name, attachment.size) == ("Übersicht.pdf", 100_000)
    assert second.header.to == (ANA,)
