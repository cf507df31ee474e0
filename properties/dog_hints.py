"""Event lists that were thought of and not drawn; each is judged, and minimised, as the drawn ones are."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.properties.dog_places import FORGED, Place

FOUND_BY_HAND: Mapping[str, tuple[Place, str]] = {
    "one transaction, two users": (
        Place("line", "UDR"),
        "U(A,t1); D(A); R(B,A); U(C,t1); D(B); R(C,B); D(C); R(B,C); U(A,t2); D(A); R(B,A); D(B)",
    ),
    "one-route-each": (
        Place("kite", "UDR", txs=3),
        "U(A,t1); U(A,t2); D(A); D(A); R(B,A); R(B,A); D(B); D(B); R(D,B); D(D); R(C,D); R(C,B); R(C,B);"
        "D(C); D(C); R(D,C); R(D,B); R(B,C); R(B,D); U(A,t3); D(A); R(B,A); D(B); D(D)",
    ),
    "one-route-each, one queue": (
        Place("ring of five", "UDR", txs=3),
        "U(A,t1); D(A); R(E,A); D(E); R(D,E); D(D); R(C,D); R(B,A); D(B); R(C,B); R(B,C); D(C); U(B,t2);"
        "D(B); R(C,B); D(C); R(D,C); R(A,B); D(A); R(E,A); D(E); R(D,E); R(E,D); D(D); U(A,t3); D(A);"
        "R(B,A); R(E,A); D(B); D(E)",
    ),
    "one-route-each, one queue, one leaves": (
        Place("ring of five", "UDRAXL", txs=3),
        "U(A,t1); D(A); R(E,A); D(E); R(D,E); D(D); R(C,D); R(B,A); D(B); R(C,B); R(B,C); D(C); U(B,t2);"
        "D(B); R(C,B); D(C); R(D,C); R(A,B); D(A); R(E,A); D(E); R(D,E); R(E,D); D(D); R(E,D); U(A,t3); D(A);"
        "R(B,A); R(E,A); D(B); D(E); X(B); L(A,B); L(C,B); R(A,E); R(E,A); R(D,C); R(C,D); R(E,D); R(D,E)",
    ),
    "in band by users, one queue": (
        Place("ring of five", "UDR", txs=3, again=True, text="no adjustment, users repeat themselves"),
        "U(A,t1); D(A); R(E,A); D(E); R(D,E); D(D); R(C,D); R(B,A); D(B); R(C,B); R(B,C); D(C); U(B,t2);"
        "D(B); R(C,B); D(C); R(D,C); R(A,B); D(A); R(E,A); D(E); R(D,E); R(E,D); D(D); R(E,D); U(A,t3); D(A);"
        "R(B,A); R(E,A); D(B); D(E); U(A,t1); U(A,t1); U(A,t1); U(B,t1); U(B,t1); U(B,t1); U(C,t1); U(C,t1);"
        "U(D,t1); U(D,t1); U(E,t1); U(E,t1); U(E,t1)",
    ),
    "leaves before it is taken": (
        Place("ring", "UDRAXL"),
        "U(A,t1); D(A); R(B,A); R(C,A); D(B); R(C,B); R(B,C); D(C); U(A,t2); D(A); R(B,A); D(B); X(A);"
        "L(C,A); L(B,A); R(C,B)",
    ),
    "in band by users": (
        Place("kite", "UDR", txs=3, again=True, text="no adjustment, users repeat themselves"),
        "U(A,t1); U(A,t2); D(A); D(A); R(B,A); R(B,A); D(B); D(B); R(D,B); D(D); R(C,D); R(C,B); R(C,B);"
        "D(C); D(C); R(D,C); R(D,B); R(B,C); R(B,D); U(A,t3); D(A); R(B,A); D(B); D(D); U(A,t1); U(A,t1);"
        "U(A,t1); U(B,t1); U(B,t1); U(B,t1); U(C,t1); U(D,t1)",
    ),
    "repeats of a Byzantine peer": (
        FORGED[0],
        "U(A,t1); F(C,D,Tx t1); R(C,D); D(A); R(B,A); D(B); R(C,B); R(B,C); D(C); U(A,t2); D(A); R(B,A);D(B)",
    ),
}
HINTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("P-25", "P-26", "P-27", "P-28", "P-46", "P-47"),
        ("one transaction, two users", "one-route-each", "one-route-each, one queue"),
    ),
    "P-24": ("leaves before it is taken", "one-route-each, one queue, one leaves"),
    "P-30": ("in band by users", "in band by users, one queue"),
    "P-33": ("repeats of a Byzantine peer",),
}
