"""Certificates for servers on loopback, made here: nothing else that is installed could.

They sign themselves, so trusting the file is trusting the server.
"""

import base64
import hashlib
import random
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from math import gcd
from pathlib import Path

_BITS = 2048
_EXPONENT = 65537
_SHA256_BY_RSA = "1.2.840.113549.1.1.11"
_RSA = "1.2.840.113549.1.1.1"
_COMMON_NAME = "2.5.4.3"
_ALTERNATIVE_NAMES = "2.5.29.17"
_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def certificate(folder: Path, *, host: str = "127.0.0.1", days: int = 2) -> Path:
    """A file with the key and the certificate; with `days` below zero it has expired."""
    modulus, private, p, q = _key()
    key = _sequence(
        *map(
            _integer,
            (
                0,
                modulus,
                _EXPONENT,
                private,
                p,
                q,
                private % (p - 1),
                private % (q - 1),
                pow(q, -1, p),
            ),
        )
    )
    signed = _to_be_signed(host, days, modulus)
    whole = _sequence(signed, _algorithm(_SHA256_BY_RSA), _bits(_signature(signed)))
    path = folder / f"{host}{days}.pem"
    path.write_text(_pem("RSA PRIVATE KEY", key) + _pem("CERTIFICATE", whole))
    return path


def _to_be_signed(host: str, days: int, modulus: int) -> bytes:
    now = datetime.now(UTC)
    name = _sequence(_tagged(0x31, _sequence(_object(_COMMON_NAME), _tagged(0x0C, host.encode()))))
    until = now + timedelta(days=days)
    validity = _sequence(_time(min(now, until) - timedelta(days=1)), _time(until))
    public = _sequence(_integer(modulus), _integer(_EXPONENT))
    address = _sequence(_tagged(0x87, ip_address(host).packed))
    extension = _sequence(_object(_ALTERNATIVE_NAMES), _tagged(0x04, address))
    return _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(random.getrandbits(64)),
        _algorithm(_SHA256_BY_RSA),
        name,
        validity,
        name,
        _sequence(_algorithm(_RSA), _bits(public)),
        _tagged(0xA3, _sequence(extension)),
    )


def _signature(content: bytes) -> bytes:
    modulus, private, _, _ = _key()
    digest = _SHA256_PREFIX + hashlib.sha256(content).digest()
    padded = b"\x00\x01" + b"\xff" * (_BITS // 8 - len(digest) - 3) + b"\x00" + digest
    return pow(int.from_bytes(padded), private, modulus).to_bytes(_BITS // 8)


# --- the key ----------------------------------------------------------------------------------


@cache
def _key() -> tuple[int, int, int, int]:
    """(modulus, private exponent, two primes). Always the same: they protect nothing."""
    chance = random.Random(20261116)
    p, q = _prime(chance), _prime(chance)
    return p * q, pow(_EXPONENT, -1, (p - 1) * (q - 1)), p, q


def _prime(chance: random.Random) -> int:
    while True:
        number = chance.getrandbits(_BITS // 2) | (3 << (_BITS // 2 - 2)) | 1
        if gcd(number - 1, _EXPONENT) == 1 and _is_prime(number, chance):
            return number


def _is_prime(number: int, chance: random.Random) -> bool:
    """By Miller and Rabin."""
    if any(number % small == 0 for small in range(3, 2000, 2)):
        return False
    twos = (number - 1 & 1 - number).bit_length() - 1
    odd = (number - 1) >> twos
    for _ in range(12):
        power = pow(chance.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


# --- how it is written ------------------------------------------------------------------------


def _tagged(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(size)]) + size + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\x00" + content)


def _object(dotted: str) -> bytes:
    first, second, *others = map(int, dotted.split("."))
    content = bytes([40 * first + second])
    for number in others:
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.insert(0, number & 0x7F | 0x80)
        content += bytes(septets)
    return _tagged(0x06, content)


def _algorithm(dotted: str) -> bytes:
    return _sequence(_object(dotted), b"\x05\x00")


def _time(moment: datetime) -> bytes:
    return _tagged(0x18, f"{moment:%Y%m%d%H%M%SZ}".encode())


def _pem(kind: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n"
