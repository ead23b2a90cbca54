"""Make a key pair for an algorithm, and sign claims with PyJWT: JSON on stdin and stdout.

Runs in an environment of its own, so it imports nothing of the project.
"""

import json
import sys

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

wanted = json.load(sys.stdin)
algorithm = wanted["algorithm"]
key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
if algorithm.startswith("ES"):
    key = ec.generate_private_key(ec.SECP384R1() if algorithm == "ES384" else ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(key.public_key()))
else:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
tokens = [jwt.encode(claims, key, algorithm, {"kid": "pyjwt"}) for claims in wanted["claims"]]
json.dump({"jwks": {"keys": [{**public, "kid": "pyjwt"}]}, "tokens": tokens}, sys.stdout)
