"""What the words of a report mean that name no sentence and no rule: verdicts, and causes without an edit."""

from __future__ import annotations

import re
from collections.abc import Mapping

VERDICTS: Mapping[str, str] = {
    "not-refuted": "The claim applied, and no counterexample was found. It is not proved.",
    "fails": "The router departs from a sentence that binds it.",
    "deviates": "The router departs from advice (SHOULD, MAY, or such words in lower case).",
    "observed": "The texts are silent or leave it open; this is how the router does it. It is no failure.",
    "unsupported": "The driver cannot do what the claim needs, so it was not asked.",
    "undecided": "The claim could not be judged: something else that the router does hides it, "
    "or a reading that does not predict other runs allows what departs.",
    "inconclusive": "The claim never applied, so that nothing can be said of it.",
    "broken": "Our own router does not pass the same events either: the finding, or the kit, is wrong.",
    "same": "Of a replay: the router departs as the case records.",
    "different": "Of a replay: the router departs, and not as the case records.",
    "fixed": "Of a replay: the recorded departure no longer occurs.",
    "holds": "Of a replay of what must hold: it does.",
    "departs": "Of a replay of what must hold: it does not.",
    "skipped": "Of a replay: the case was not played on this router.",
    "proved": "Of `prove` and `explore`: it holds in every state, within the scope that is printed.",
    "by definition": "Of `prove`: it holds by the way in which the model is made.",
    "refuted": "Of `prove` and `explore`: a shortest run that breaks it is printed.",
    "vacuous": "Of `prove`: vacuously true, because its premise never holds.",
    "undetermined": "Of `prove` and `explore`: the solver gave up, or memory ran out.",
}
"""Verdict, or outcome of a replay -> what it means."""
_CAUSES: Mapping[str, str] = {
    r"unexplained:missing": "The router left out what was due, and no known root cause matches.",
    r"unexplained:unexpected": "The router did what it may not do, and no known root cause matches.",
    r"unexplained:differs": "The router sent something else than was due, and no known root cause matches.",
    r"unexplained:choice": "The router chose what the texts do not allow, and no known root cause matches.",
    r"unexplained:withdrawn": "An explanation was found and then contradicted by another run.",
    r"unexplained(:[\w-]+)?": "No known root cause matches.",
    r"crash( \d+|:.+)?": "The router failed. Its events are written to --private alone; an expectations file "
    "numbers its crashes.",
    r"pending:.+": "It ended before this departure was explained.",
    r"adds:.+": "An addition of the router to the protocol: without it, the same events are in order.",
}
"""Pattern of a cause -> what it means; the first one that matches counts."""


def cause_in_words(name: str) -> str:
    """What a cause means that is no edit of the specification; empty for another name."""
    if name == "unexplained:crash":
        return _CAUSES[r"crash( \d+|:.+)?"]
    return next((said for pattern, said in _CAUSES.items() if re.fullmatch(pattern, name)), "")
