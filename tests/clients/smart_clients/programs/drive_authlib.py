"""Get access tokens with Authlib's `private_key_jwt`, and use them: JSON on stdin and stdout.

Runs in an environment of its own, so it imports nothing of the project.
"""

import json
import sys
import time
from typing import Any

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT

wanted = json.load(sys.stdin)
token_url = requests.get(f"{wanted['url']}/.well-known/smart-configuration", timeout=30).json()["token_endpoint"]


def open_client(client_id: str, scope: str, **claims: Any) -> Any:
    """Return a client that signs assertions."""
    client = OAuth2Session(client_id, wanted["key"], "private_key_jwt", scope=scope, token_endpoint=token_url)
    method = PrivateKeyJWT(token_url, claims=claims, headers={"kid": wanted["kid"]}, alg=wanted["algorithm"])
    client.register_client_auth_method(method)
    return client


def find_error(client_id: str, scope: str, **claims: Any) -> str:
    """Return the OAuth error of a token request."""
    try:
        open_client(client_id, scope, **claims).fetch_token(grant_type="client_credentials")
    except OAuthError as error:
        return str(error.error)
    return ""


soon = int(time.time()) + 240
client = open_client(wanted["client_id"], "system/Patient.rs system/Observation.c", exp=soon)
told = {"token": client.fetch_token(grant_type="client_credentials")}
read = client.get(f"{wanted['url']}/Patient/p1")
told["read"] = [read.status_code, read.json()["id"]]
refused = client.get(f"{wanted['url']}/Observation/o1")
told["refused"] = [refused.status_code, refused.headers["www-authenticate"], refused.json()["resourceType"]]
told["errors"] = [
    find_error("another", "system/*.rs", exp=soon),
    find_error(wanted["client_id"], "patient/*.rs", exp=soon),
    find_error(wanted["client_id"], "system/*.rs"),  # by default it signs for an hour
]
json.dump(told, sys.stdout)
