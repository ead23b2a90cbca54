"""The signature of webhooks, `X-Twilio-Signature`."""

import base64
import hashlib
import hmac
from collections.abc import Mapping

SIGNATURE_HEADER = "x-twilio-signature"


def sign_webhook(token: str, url: str, parameters: Mapping[str, str]) -> str:
    """Return the signature of a form that is posted to a URL.

    It is the HMAC-SHA1, in base64, of the URL and of each parameter's name and value, sorted by name. The key is the
    Auth Token.
    """
    signed = url + "".join(f"{name}{parameters[name]}" for name in sorted(parameters))
    return base64.b64encode(hmac.digest(token.encode(), signed.encode(), hashlib.sha1)).decode()
