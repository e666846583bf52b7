"""Object identifiers in certificates, with the names that their standards give them. Data only."""

from __future__ import annotations

from typing import Final

KEY_ALGORITHMS: Final[dict[str, str]] = {
    "1.2.840.113549.1.1.1": "RSA",  # RFC 3279 section 2.3.1
    "1.2.840.113549.1.1.10": "RSA-PSS",  # RFC 4055 section 1.2
    "1.2.840.10040.4.1": "DSA",
    "1.2.840.10045.2.1": "ECDSA",  # id-ecPublicKey, RFC 5480 section 2.1.1
    "1.3.101.110": "X25519",  # RFC 8410 section 3
    "1.3.101.111": "X448",
    "1.3.101.112": "Ed25519",
    "1.3.101.113": "Ed448",
    "2.16.840.1.101.3.4.3.17": "ML-DSA-44",  # RFC 9881 section 2
    "2.16.840.1.101.3.4.3.18": "ML-DSA-65",
    "2.16.840.1.101.3.4.3.19": "ML-DSA-87",
    "2.16.840.1.101.3.4.3.20": "SLH-DSA-SHA2-128s",  # RFC 9909 section 3
    "2.16.840.1.101.3.4.3.21": "SLH-DSA-SHA2-128f",
    "2.16.840.1.101.3.4.3.22": "SLH-DSA-SHA2-192s",
    "2.16.840.1.101.3.4.3.23": "SLH-DSA-SHA2-192f",
    "2.16.840.1.101.3.4.3.24": "SLH-DSA-SHA2-256s",
    "2.16.840.1.101.3.4.3.25": "SLH-DSA-SHA2-256f",
    "2.16.840.1.101.3.4.3.26": "SLH-DSA-SHAKE-128s",
    "2.16.840.1.101.3.4.3.27": "SLH-DSA-SHAKE-128f",
    "2.16.840.1.101.3.4.3.28": "SLH-DSA-SHAKE-192s",
    "2.16.840.1.101.3.4.3.29": "SLH-DSA-SHAKE-192f",
    "2.16.840.1.101.3.4.3.30": "SLH-DSA-SHAKE-256s",
    "2.16.840.1.101.3.4.3.31": "SLH-DSA-SHAKE-256f",
}
"""subjectPublicKeyInfo algorithms."""

SIGNATURES: Final[dict[str, tuple[str, str | None]]] = {
    "1.2.840.113549.1.1.2": ("md2WithRSAEncryption", "MD2"),
    "1.2.840.113549.1.1.4": ("md5WithRSAEncryption", "MD5"),
    "1.2.840.113549.1.1.5": ("sha1WithRSAEncryption", "SHA1"),
    "1.3.14.3.2.29": ("sha1WithRSASignature", "SHA1"),  # OIW's, in certificates of the 1990s and of old appliances
    "1.2.840.113549.1.1.14": ("sha224WithRSAEncryption", "SHA224"),
    "1.2.840.113549.1.1.11": ("sha256WithRSAEncryption", "SHA256"),
    "1.2.840.113549.1.1.12": ("sha384WithRSAEncryption", "SHA384"),
    "1.2.840.113549.1.1.13": ("sha512WithRSAEncryption", "SHA512"),
    "1.2.840.113549.1.1.10": ("id-RSASSA-PSS", "parameters"),
    "1.2.840.10045.4.1": ("ecdsa-with-SHA1", "SHA1"),
    "1.2.840.10045.4.3.1": ("ecdsa-with-SHA224", "SHA224"),
    "1.2.840.10045.4.3.2": ("ecdsa-with-SHA256", "SHA256"),
    "1.2.840.10045.4.3.3": ("ecdsa-with-SHA384", "SHA384"),
    "1.2.840.10045.4.3.4": ("ecdsa-with-SHA512", "SHA512"),
    "1.2.840.10040.4.3": ("dsa-with-sha1", "SHA1"),
    "2.16.840.1.101.3.4.3.1": ("dsa-with-sha224", "SHA224"),
    "2.16.840.1.101.3.4.3.2": ("dsa-with-sha256", "SHA256"),
    "1.3.101.112": ("Ed25519", None),
    "1.3.101.113": ("Ed448", None),
    **{
        oid: (name, None)
        for oid, name in KEY_ALGORITHMS.items()
        if oid.startswith("2.16.840.1.101.3.4.3.")  # ML-DSA and SLH-DSA: one identifier for key and signature
    },
}
"""Signature algorithms: name (RFC 3279, RFC 4055, RFC 5758, RFC 8410), and the hash that it is made over.

None: the algorithm hashes within itself. ``parameters``: the certificate says which.
"""

CURVES: Final[dict[str, tuple[str, int]]] = {
    "1.2.840.10045.3.1.1": ("P-192", 192),  # RFC 5480 section 2.1.1.1
    "1.3.132.0.33": ("P-224", 224),
    "1.2.840.10045.3.1.7": ("P-256", 256),
    "1.3.132.0.34": ("P-384", 384),
    "1.3.132.0.35": ("P-521", 521),
    "1.3.132.0.1": ("sect163k1", 163),
    "1.3.132.0.15": ("sect163r2", 163),
    "1.3.132.0.26": ("sect233k1", 233),
    "1.3.132.0.27": ("sect233r1", 233),
    "1.3.132.0.16": ("sect283k1", 283),
    "1.3.132.0.17": ("sect283r1", 283),
    "1.3.132.0.36": ("sect409k1", 409),
    "1.3.132.0.37": ("sect409r1", 409),
    "1.3.132.0.38": ("sect571k1", 571),
    "1.3.132.0.39": ("sect571r1", 571),
    "1.3.132.0.8": ("secp160r1", 160),  # SEC 2
    "1.3.132.0.9": ("secp160k1", 160),
    "1.3.132.0.30": ("secp160r2", 160),
    "1.3.132.0.31": ("secp192k1", 192),
    "1.3.132.0.32": ("secp224k1", 224),
    "1.3.132.0.10": ("secp256k1", 256),
    "1.3.36.3.3.2.8.1.1.7": ("brainpoolP256r1", 256),  # RFC 5639 section 4.1
    "1.3.36.3.3.2.8.1.1.11": ("brainpoolP384r1", 384),
    "1.3.36.3.3.2.8.1.1.13": ("brainpoolP512r1", 512),
    "1.2.156.10197.1.301": ("curveSM2", 256),
}
"""Named curves: the name (FIPS 186 where it has one), and the bits of the field."""

EXTENDED_KEY_USAGES: Final[dict[str, str]] = {
    "2.5.29.37.0": "anyExtendedKeyUsage",  # RFC 5280 section 4.2.1.12
    "1.3.6.1.5.5.7.3.1": "serverAuth",
    "1.3.6.1.5.5.7.3.2": "clientAuth",
    "1.3.6.1.5.5.7.3.3": "codeSigning",
    "1.3.6.1.5.5.7.3.4": "emailProtection",
    "1.3.6.1.5.5.7.3.8": "timeStamping",
    "1.3.6.1.5.5.7.3.9": "OCSPSigning",
}
