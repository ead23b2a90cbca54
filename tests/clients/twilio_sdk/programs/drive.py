"""Drive the Twilio API with the twilio SDK for Python; reads a task as JSON, prints the results.

Runs in an environment of its own, so it imports nothing of the project.
The arguments of `drive`: base URL, Account SID, Auth Token, SmsUrl, StatusCallback, own number, a contact, and one who
opted out.
"""

import json
import sys
from datetime import datetime
from typing import Any

from twilio.base.exceptions import TwilioRestException
from twilio.request_validator import RequestValidator
from twilio.rest import Client
from twilio.twiml.messaging_response import MessagingResponse


def build_answer() -> str:
    """Return an answer in TwiML."""
    response = MessagingResponse()
    response.message("First & foremost")
    response.message().body("Zweite Nachricht: ü")
    return str(response)


def drive(arguments: list[str]) -> Any:
    """Send, list, stream, fetch, and cause errors."""
    url, sid, token, sms_url, callback, own, contact, gone = arguments
    client = Client(sid, token)
    client.api.base_url = url
    [number] = client.incoming_phone_numbers.list(phone_number=own)
    updated = number.update(sms_url=sms_url)
    sent = [
        client.messages.create(to=contact, from_=own, body=f"Message {n}", status_callback=callback) for n in range(3)
    ]
    errors = {}
    for name, fields in {
        "opted_out": {"to": gone, "from_": own, "body": "x"},
        "bad_to": {"to": "banana", "from_": own, "body": "x"},
        "service": {"to": contact, "messaging_service_sid": "MG1", "body": "x"},
    }.items():
        try:
            client.messages.create(**fields)
        except TwilioRestException as error:
            errors[name] = [error.status, error.code]
    try:
        client.messages("SM" + "0" * 32).fetch()
    except TwilioRestException as error:
        errors["unknown"] = [error.status, error.code]
    try:
        wrong = Client(sid, "wrong")
        wrong.api.base_url = url
        wrong.messages.create(to=contact, from_=own, body="x")
    except TwilioRestException as error:
        errors["wrong_token"] = [error.status, error.code]
    fetched = client.messages(sent[0].sid).fetch()
    return {
        "account": client.api.accounts(sid).fetch().status,
        "sms_url": updated.sms_url,
        "sent": [message.sid for message in sent],
        "status": sent[0].status,
        "fetched": [fetched.body, fetched.num_segments, isinstance(fetched.date_created, datetime)],
        "list": [message.sid for message in client.messages.list(page_size=2)],
        "limited": len(client.messages.list(limit=2)),
        "stream": [message.body for message in client.messages.stream(to=contact, page_size=1)],
        "today": len(client.messages.list(date_sent_after=datetime(2020, 1, 1))),
        "errors": errors,
        "twiml": build_answer(),
    }


def send_media(arguments: list[Any]) -> Any:
    """Send media, list them and fetch one; a foreign URL is refused."""
    url, sid, token, own, contact, media_urls = arguments
    client = Client(sid, token)
    client.api.base_url = url
    sent = client.messages.create(to=contact, from_=own, body="Your card", media_url=media_urls)
    listed = client.messages(sent.sid).media.list()
    fetched = client.messages(sent.sid).media(listed[0].sid).fetch()
    try:
        client.messages.create(to=contact, from_=own, media_url=["https://images.example/a.png"])
        refused = []
    except TwilioRestException as error:
        refused = [error.status, error.code]
    found = [[media.content_type, media.parent_sid == sent.sid] for media in listed]
    return {"num_media": sent.num_media, "list": found, "fetched": fetched.uri, "refused": refused}


def validate(token: str, requests: list[dict[str, Any]]) -> Any:
    """Return for each webhook whether its signature is valid."""
    validator = RequestValidator(token)
    return [validator.validate(each["url"], each["form"], each["signature"]) for each in requests]


if __name__ == "__main__":
    task = json.load(sys.stdin)
    if "media" in task:
        result = send_media(task["media"])
    else:
        result = validate(*task["validate"]) if "validate" in task else drive(task["drive"])
    sys.stdout.write(json.dumps(result))
