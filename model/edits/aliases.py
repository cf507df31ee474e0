"""Names of edits that were changed: old -> new.

A user's files hold names of edits: the cause of an expectation, the `quirk:` and `as-built:` of a case, what
follows the `+` of a side. Each old name goes on working where a name is read.

An edit of one rule was once called by the rule (`without:while_backing_off`). Now it is called by what a
router does (`accepts-graft-inside-backoff`), which depends on the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from quidnunc.model.edit import FORMS
from quidnunc.model.rules import Protocol, Rule

RENAMED: Mapping[str, str] = {
    "mesh-failures-decay-as-deliveries": (
        "decay-mesh-failure-penalty-decay-as-mesh-message-deliveries-decay"
    ),
    "requests-transaction-from-peer-that-has-it-and-has-not-announced-it": "holders-asked",
}
"""Old name -> the name of today, of those that do not depend on a protocol."""


def rule_meant(name: str, protocol: Protocol) -> tuple[str, Rule] | None:
    """The form and the rule that `FORM:RULE` names; None for another name, or where there is no such rule."""
    form, _, wanted = name.partition(":")
    if form not in FORMS:
        return None
    rule = next((each for _, each in protocol.rules() if each.name == wanted), None)
    return None if rule is None else (form, rule)


def current_name(name: str, *protocols: Protocol, clause: str = "") -> str:
    """The name of today; a name that was never changed is its own.

    Of several protocols, the first that has the rule tells it; those where it bears the `clause` come first.
    """
    name = RENAMED.get(name, name)
    found = [meant for each in protocols if (meant := rule_meant(name, each)) is not None]
    found.sort(key=lambda meant: meant[1].clause != clause)
    return FORMS[found[0][0]].name(found[0][1]) if found else name


def old_names(protocols: Iterable[Protocol]) -> dict[str, dict[str, None]]:
    """Old name -> the names of today, of every edit that was renamed; several where protocols differ."""
    found: dict[str, dict[str, None]] = {old: {new: None} for old, new in RENAMED.items()}
    for form, made in FORMS.items():
        for rule in (each for protocol in protocols for _, each in protocol.rules()):
            found.setdefault(f"{form}:{rule.name}", {})[made.name(rule)] = None
    return found
