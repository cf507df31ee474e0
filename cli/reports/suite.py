"""What the report of `quidnunc check --suite` says otherwise than that of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quidnunc.output import count
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.unsent import never_sent
from quidnunc.properties.search.verdicts import ClaimVerdict, ExitStatus, first_named
from quidnunc.properties.suite.edits import shown_edits
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.unnoticed import unnoticed_of

VERDICTS: Mapping[str, str] = {"not-refuted": "passes", "inconclusive": "not run", "unsupported": "not run"}
"""Verdict of a search -> what it is in a fixed suite, where it is another word."""
SUITE_LEGEND = (
    "verdict: passes = it applied in the cases, and none fails; fails = some case fails;\n"
    "         not run = it applied in no case that this router was played; undecided = a failure hides it,\n"
    "         or the suite ended before all was played and explained"
)


def word_of(verdict: ClaimVerdict) -> str:
    """The verdict of a claim in the words of the suite."""
    return VERDICTS.get(verdict.verdict, verdict.verdict)


def suite_exit(end: ExitStatus, campaign: Campaign, verdicts: Sequence[ClaimVerdict] = ()) -> ExitStatus:
    """The exit status of a suite: claims that no case applies are named, and do not make it fail.

    What does: that no case was played, that the time was up before all was played and explained, and that a
    departure hides a claim on which a router can fail.
    """
    left = "; ".join(unfinished(campaign))
    if end.code == 3 and campaign.runs and not campaign.pending and not left:
        hidden = [v.claim.id for v in verdicts if v.verdict == "undecided" and v.binding]
        return ExitStatus(3, f"undecided: {first_named(hidden)}") if hidden else ExitStatus(0)
    if not end.code and left:
        return ExitStatus(3, left)
    if not end.code and not campaign.runs:
        return ExitStatus(3, "no case of the suite was played; see what the cases need")
    return end


def unfinished(campaign: Campaign) -> list[str]:
    """What was not played or not explained, and why."""
    played = f"{len(campaign.not_played)} of {len(suite_of(campaign.protocol))} cases were not played"
    left = len(campaign.not_explained)
    explained = f"{left} of the cases that depart {'was' if left == 1 else 'were'} not explained"
    told = [played] * bool(campaign.not_played) + [explained] * bool(left)
    return [f"{each}: {campaign.ended_by}" for each in told]


def unfinished_lines(campaigns: Sequence[Campaign], whole: str) -> list[str]:
    """What was not played or not explained, by protocol, and `whole`, the command that does all; nothing
    where all was done."""
    left = [(each, line) for each in campaigns for line in unfinished(each)]
    lines = [f"{each.protocol}: {line}" if len(campaigns) > 1 else line for each, line in left]
    if not lines:
        return []
    ended = any(each.interrupted or each.broken for each in campaigns)
    again = "to play and explain all of it" if ended else "without a time limit, or with a longer --budget"
    return ["", *lines, f"{again}: {whole}"]


def not_run(campaign: Campaign, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """What this router was not asked, and what a failure hides, in a few lines."""
    # Where nothing was played, that is said once, and not of each claim.
    lines = [] if campaign.runs else ["every claim: not one case was played"]
    never = "it applied in no case before a departure"
    lines += [
        f"{v.claim.id}: {never if v.verdict == 'inconclusive' else v.reason}"
        for v in verdicts
        if word_of(v) == "not run" and (campaign.runs or v.verdict != "inconclusive")
    ]
    lines += [f"{v.claim.id}: {v.reason}" for v in verdicts if v.verdict == "undecided"]
    lines += [
        f"what {name} does beside other failures: they are explained with it off" for name in campaign.without
    ]
    if not (lines or campaign.left_out or campaign.not_played):
        lines.append("nothing: every case was played, and every claim applied")
    needs = Counter(line.rpartition(" needs: ")[2] for line in campaign.left_out if " needs: " in line)
    lines += [f"{count(number, 'case')}: the driver lacks {need}" for need, number in sorted(needs.items())]
    lines += [line for line in campaign.left_out if " needs: " not in line]
    return lines + unfinished(campaign) + never_sent(campaign.sent)


def not_seen(campaign: Campaign) -> list[str]:
    """What no case of this suite shows, whatever the router."""
    name = campaign.protocol
    rules, edits = unnoticed_of(name), shown_edits(name)
    lines = []
    if rules:
        lines.append(f"a router without {count(len(rules), 'rule')}, whose absence no trace shows")
    if edits.missed:
        lines.append(
            f"a router with a wrong rule, in {edits.missed} of the {edits.edits} small edits that were tried"
        )
    if not edits.edits:
        lines.append(
            "a router with a wrong rule, where no case happens to show it (small edits were not tried)"
        )
    lines.append(f"(`quidnunc suite {name}` lists what is known)" if lines else "")
    lines.append("runs longer than a case, wall-clock time, networks of routers: search without --suite")
    return [line for line in lines if line]


def suite_json(campaign: Campaign, verdicts: Sequence[ClaimVerdict], whole: str) -> dict[str, Any]:
    """The keys of the report of a suite, beside those of a search. `whole`: the command without a time limit,
    which is said where not all was played and explained."""
    name = campaign.protocol
    edits = shown_edits(name)
    return {
        "suite": {
            "cases": len(suite_of(name)),
            "played": campaign.runs,
            "verdicts": {v.claim.id: word_of(v) for v in verdicts},
            "not_run": not_run(campaign, verdicts),
            "not_seen": {
                "rules": sorted(unnoticed_of(name)),
                "edits_tried": edits.edits,
                "edits": {rule: list(names) for rule, names in edits.unshown.items()},
            },
            "left_out": list(campaign.left_out),
            "known": list(campaign.known),
            **_unfinished_json(campaign, whole),
        }
    }


def _unfinished_json(campaign: Campaign, whole: str) -> dict[str, Any]:
    """The keys that are there only where not all was played and explained."""
    if not (campaign.not_played or campaign.not_explained):
        return {}
    named = {"not_played": campaign.not_played, "not_explained": campaign.not_explained}
    return {**{key: list(names) for key, names in named.items()}, "without_limit": whole}
