#!/usr/bin/env python3
"""Prints texts that ansible-core's vault encrypts, as JSON: each with its password, its ID and the hexadecimal digits of the plain text."""

import json

from ansible.parsing.vault import VaultLib, VaultSecret

LENGTHS = [0, 1, 15, 16, 17, 31, 32, 33, 255, 4096, 70000]
PLAIN = [bytes((7 * at + length) % 256 for at in range(length)) for length in LENGTHS]
PLAIN += ["key: väl\n".encode(), b"a\r\nb", b"\n", b"$ANSIBLE_VAUL", b"\x10" * 16, b"{{ 1 + 1 }}", b"\x00", b"x" * 999, b" y "]
PASSWORDS = [b"pw", "pässwörd".encode(), b"x" * 200, b" "]
IDS = [None, "dev", "a b", "default", None]

texts = []
for at in range(40):
    plain = PLAIN[at % len(PLAIN)]
    password, name = PASSWORDS[at % len(PASSWORDS)], IDS[at % len(IDS)]
    secret = VaultSecret(password)
    vault = VaultLib([(name or "default", secret)])
    text = vault.encrypt(plain, secret, vault_id=name)
    texts.append({"text": text.decode(), "password": password.hex(), "id": name, "plain": plain.hex()})
print(json.dumps(texts))
