"""Operators: the ways in which any one rule can go wrong, and the edits that they make of a protocol.

An operator wraps the function of a rule; none of them knows which rule it is. So an explanation does not
depend on the routers that were seen before. What a router does that has several rules wrong at once, or that
no operator says, has no edit here, and is reported as unexplained.

    silent-RULE        it changes the state and sends nothing
    idle-RULE          it sends what is due and leaves the state as it was
    twice-RULE         it sends everything twice
    everybody-RULE     it sends to every peer what it sends to some
    bare-RULE          the optional fields of what it sends are left out
    one-RULE           it sends to one peer what is due to several
    more-, fewer-, none-, all-, any-RULE   it chooses one too many, one too few, nobody, everybody, or without
                       the condition
    FIELD-left-out-RULE   one optional field of what it sends is left out
    RULE-reads-no-FIELD, RULE-reads-FIELD-as-ms   it ignores a field of what it receives, or takes its seconds
                       for milliseconds
    RULE-in-every-topic   it does in all topics what one message asks for in one of them
    passes-on-RULE     it sends what it answers to all other peers besides
    marks-seen-RULE    a message that it drops is taken for seen
    sends-back-RULE    it sends what it answers back to the peer it comes from
    alters-messages-RULE   the messages that it sends are not the ones that came
    to-another-RULE    it sends to another peer what it owes to the one that it answers
    earlier-FIELD      what a peer said on an earlier connection counts on the next one
    sets-FIELD-RULE, clears-FIELD-RULE   a switch of the state is on, or off, once it has come in
    RULE-as-OTHER      it does what the like rule of another protocol does
    NUMBER-one-more, NUMBER-one-less   what the rule works out is off by one
    RULE-NAME-as-VALUE it reads one parameter as another one, as its default, off by one, as 0, or as endless
    RULE-clock-CHANGE  it reads a clock that is off: by a moment, by a second, stopped, or far ahead
    RULE-to-WHOM, RULE-to-WHOM-too   it sends to those alone, or to those as well
    RULE-sees-VIEW     it looks at a state in which something is otherwise: no backoff, everybody in the mesh
    RULE-overlooks-FLAW   it does not look for one of the things that can be wrong with a message
    RULE-keeps-FIELD, RULE-keeps-FIELD-of-WHOM   one field of the state stays as it was, of all peers or of
                       some, and the rest changes
    ends-rpc-RULE, ends-its-kind-RULE   it reads no more of the RPC, or no more parts of that kind
    prunes-RULE, refuses-RULE   it answers a GRAFT with PRUNE, and starts a backoff perhaps
    first-RULE, last-RULE   it comes before all else at the heartbeat, or after
    once-RULE          it sends the same to a peer only once
    held-RULE          what it sends waits for the heartbeat
    TERM-sees-former-members   a term of the score takes a peer that has left the mesh for a member
    RULE-without-NAME  it works out or counts a score as if one parameter of scores were not there
    RULE-NAME-as-OTHER it takes the weight, cap or decay of one counter of a topic for that of another
    RULE-unsquared     it does not square a number
    RULE-takes-EXCLUSION   it chooses from a set in which one exclusion leaves nobody out, and others do not
    goes-on-RULE       it decides, and the next check of the same thing decides again
    goes-on-silently-RULE   so too, and it sends nothing: it only changes the state
    SET-of-all         a set is chosen from all peers
    SET-also-RULE      a set leaves out also those whom another set does
    HANDLER-forgets-FIELD   with the first rule on what happens, the router forgets what it has on that
    everywhere-...     a parameter, a view or a field is taken so by every rule that reads it
    everywhere-LIMIT-and-LIMIT-as-VALUE   limits that one rule compares with are all one more, or one less
    everywhere-KIND-with-wrong-WHAT   what is of one kind is sent with a fault in its format
    everywhere-published-with-FLAW   what it publishes itself breaks the signature policy
    everywhere-in-HANDLER-...   all rules that answer one thing do so, or all exclusions from one set

That a rule is not there, or comes after the next one, is in `quidnunc.model.edit`. The words of all of them
end with what the rule does: "... when it refuses a GRAFT inside the backoff".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache, partial
from itertools import permutations
from typing import Any, TypeAlias

from attrs import fields, frozen

from quidnunc.model.edit import Edit, asking_words, when_words, words_of
from quidnunc.model.edits.operators import words, wrapped
from quidnunc.model.edits.operators.everywhere import (
    EVERYWHERE,
    Reading,
    changed_rules,
    edits_everywhere,
    edits_of_answers,
    edits_of_publishing,
    edits_of_sets,
    edits_of_sums,
)
from quidnunc.model.edits.operators.reads import names_read, sets_asked
from quidnunc.model.edits.operators.reconnects import edits_of_reconnecting
from quidnunc.model.edits.operators.rule_use import RuleUse
from quidnunc.model.edits.operators.wrapped import HEARTBEAT
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Sent
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.protocols import CATS, MEMPOOL
from quidnunc.model.mempool.protocols import LIMITS as LIMITED
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.pubsub.router import ANY_KIND, FREEDOM, Router
from quidnunc.model.rpc import Extensions, Fault, Graft, HaveTx, Message, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.model.rules import Combined, Exclusion, FirstMatch, Phases, Protocol, Rule, Total
from quidnunc.model.score_parameters import TopicScoreParameters
from quidnunc.model.values import evolve

SCORES = "gs1.1/score"

TOO_WIDE = frozenset(
    {
        *("take", "read_subscriptions", "read_messages", "read_ihaves", "read_iwants", "read_grafts"),
        *("read_prunes", "read_idontwants", "read_extensions", "read_partials"),
    }
)
"""Rules through which everything of a kind passes: that one of them is wrong says too little of what is."""

SIBLINGS: tuple[frozenset[str], ...] = tuple(
    map(
        frozenset,
        (
            ("d", "d_low", "d_high", "d_score", "d_out", "d_lazy"),
            ("gossip_threshold", "publish_threshold", "graylist_threshold"),
            ("prune_backoff_s", "unsubscribe_backoff_s"),
            ("mcache_len", "mcache_gossip"),
            ("fanout_ttl_ms", "seen_ttl_ms"),
            ("max_ihave_messages", "max_ihave_length", "max_idontwant_messages"),
            ("max_groups_per_topic", "max_groups_per_peer"),
            ("cache_size", "pool_size"),
            ("max_persistent", "max_non_persistent"),
        ),
    )
)
"""Parameters of one unit and of like purpose: one is easily taken for another."""

LIMITS = tuple(
    frozenset(name for name in like if words.PARAMETERS[name].startswith(words.BOUNDS)) for like in SIBLINGS
)
"""Those of them that bound how many there are: one comparison may stand for all."""

SETS_OF_A_TOPIC = ("graft_candidates", "fanout_candidates", "gossip_candidates")
"""Sets whose exclusions ask of a topic and a peer, so that one may stand in another."""


Matters: TypeAlias = Callable[["RuleUse"], bool]
"""Whether an edit of a rule can change what is judged, where the rule did that."""


@frozen
class OperatorEdit:
    """An edit that an operator makes of one rule of a protocol, or of several."""

    edit: Edit
    rules: tuple[str, ...]
    matters: Matters
    """Whether what a rule did in a run lets the edit change what is judged of it."""
    worth: Matters | None = None
    """Where given: whether what a rule did in a run tells the edit from a smaller one."""
    rank: int = 0
    """Of edits that account for the same, the one that routers are likelier to have comes first."""


def _called(use: RuleUse) -> bool:
    return use.called


def _permitted(use: RuleUse) -> bool:
    return use.permitted


def _chose(use: RuleUse) -> bool:
    return use.chose


def _changed(use: RuleUse) -> bool:
    return bool(use.changed)


def _applied(use: RuleUse) -> bool:
    return use.applied


def _carried(name: str, use: RuleUse) -> bool:
    return name in use.carried


def _several(use: RuleUse) -> bool:
    return use.several


def _sent(kind: type, use: RuleUse) -> bool:
    return kind in use.sent


_STEPS: Mapping[str, tuple[str, Callable[[Rule], Rule], Matters]] = {
    "silent": ("Sends nothing", partial(wrapped.after, wrapped.silent), _permitted),
    "idle": ("Does not update its own state", partial(wrapped.after, wrapped.idle), _changed),
    "twice": ("Sends everything twice", partial(wrapped.after, wrapped.twice), _permitted),
    "everybody": (
        "Sends to all peers what is due to only some of them",
        partial(wrapped.after, wrapped.everybody),
        _permitted,
    ),
    "bare": (
        "Leaves the backoff and the offered peers out of PRUNE",
        partial(wrapped.after, wrapped.bare),
        _permitted,
    ),
    "more": ("Chooses one peer too many", partial(wrapped.choosing, "more"), _chose),
    "fewer": ("Chooses one peer too few", partial(wrapped.choosing, "fewer"), _chose),
    "none": ("Chooses no peer", partial(wrapped.choosing, "none"), _chose),
    "all": ("Chooses every peer", partial(wrapped.choosing, "all"), _chose),
    "any": ("Ignores the conditions of its choice", partial(wrapped.choosing, "any"), _chose),
    "one": ("Sends to one peer what is due to several", wrapped.to_one, _several),
}
"""Operator -> words, what it makes of a rule, and what the rule must do for that to matter."""

_ALTERED: Mapping[str, tuple[str, Callable[[Rule], Rule], type]] = {
    "alters-messages": ("Alters the messages that it sends", wrapped.altering, Message),
    "delays-extensions": (
        "Names its extensions after its subscriptions",
        partial(wrapped.after, wrapped.delaying_extensions),
        Extensions,
    ),
}
"""Operator -> words, what it makes of what is sent, and what kind of part."""

_TERMS: Mapping[str, tuple[str, tuple[int, int]]] = {
    "doubled": ("Doubles the result", (2, 1)),
    "halved": ("Halves the result", (1, 2)),
    "negated": ("Reverses the sign of the result", (-1, 1)),
}
"""Operator -> words, and what a term of a sum is multiplied by."""

_IN_SUMS: Mapping[str, tuple[str, tuple[int, int]]] = {
    "doubled-in-sum": ("doubles the result", (2, 1)),
    "halved-in-sum": ("halves the result", (1, 2)),
    "zero-in-sum": ("takes 0 for the result", (0, 1)),
}
"""The same of a term that is also the whole score, where there are no score parameters."""

_OFF_BY_ONE: Mapping[str, int] = {"one-more": 1, "one-less": -1}
"""What stands in the name of the edit -> how much more."""


@frozen
class FamilyOperators:
    """What operators know of one family of protocols."""

    parameters: type
    state: type
    whom: Mapping[str, tuple[str, wrapped.Whom]] = {}
    views: Mapping[str, tuple[frozenset[str], str, Callable[[Any], Any]]] = {}
    sends: Mapping[str, tuple[tuple[type, ...], tuple[Fault, ...]]] = {}
    """Kinds of messages that go alone, with what can be wrong with their format."""
    announced: Mapping[str, tuple[str, Any]] = {}
    """Fields of what comes in: the kind of part that has it, and what stands there where it is absent."""
    optional: Mapping[str, tuple[tuple[str, ...], Any]] = {}
    """Fields of messages that may be left out: by what a rule sends them, and what stands there then."""
    without: frozenset[str] = frozenset()
    """Operators on what its routers never send."""


FAMILIES: Mapping[str, FamilyOperators] = {
    "pubsub": FamilyOperators(
        Parameters,
        Router,
        wrapped.WHOM,
        wrapped.VIEWS,
        announced={
            "backoff_s": ("Prune", None),
            "requests": ("Subscribe", False),
            "supports": ("Subscribe", False),
        },
        optional={
            "backoff_s": (("Prune",), None),
            "peers": (("Prune",), ()),
            "payload": (("Partial", "PartialIn"), None),
            "metadata": (("Partial", "PartialIn"), None),
        },
    ),
    "mempool": FamilyOperators(
        DogParameters,
        Node,
        wrapped.MEMPOOL_WHOM,
        wrapped.MEMPOOL_VIEWS,
        sends={
            "tx": ((Tx,), ("bytes", "channel")),
            "have_tx": ((HaveTx,), ("bytes", "channel", "key")),
            "reset_route": ((ResetRoute,), ("bytes", "channel")),
            "seen_tx": ((SeenTx,), ("bytes", "channel", "key", "signer")),
            "want_tx": ((WantTx,), ("bytes", "channel", "key")),
            "control": ((HaveTx, ResetRoute, SeenTx, WantTx), ("bytes", "channel")),
        },
        without=frozenset({"bare"}),
    ),
}
"""By the name that `Protocol.family` has."""

STATE_FIELDS: Mapping[str, frozenset[str]] = {
    name: frozenset(f.name for f in fields(family.state) if f.init)
    - {"protocol", "parameters", "now_ms", *FREEDOM}
    for name, family in FAMILIES.items()
}
"""Family -> what its rules can change of a state."""

CONTROL_PARTS = frozenset({"IHave", "IWant", "Graft", "Prune", "IDontWant", "Message"})
"""Parts of which an RPC holds several, each handled in turn."""
OF_ONE_TOPIC = frozenset({"Graft", "Prune", "Subscribe", "Unsubscribe"})
"""Parts that are about the topic that they name."""
SECONDS = frozenset({"backoff_s"})
"""Fields of messages that hold seconds."""
UNSEEABLE = frozenset({"peers", "ledger", "windows", "cached", "protocol"})
"""Fields that other fields count on, or that hold several things."""


PUBSUB_FAMILY = "pubsub"
PUBLISHING = ("publish", "publish_to")
"""Handlers whose rules send the router's own messages."""

FORGETS = "-forgets-"
"""In the names of edits by which something is forgotten."""

MESSAGE = "message"
"""The handler whose checks drop a message, or let it through."""

OF_FAMILY: Mapping[str, tuple[Protocol, ...]] = {
    "pubsub": tuple(PUBSUB.values()),
    "mempool": tuple({**MEMPOOL, **CATS, **LIMITED}.values()),
}
"""Family -> its protocols."""


@lru_cache
def switches_of(protocol: Protocol) -> tuple[str, ...]:
    """Fields of the state that are on or off, and that some rule of the protocol reads."""
    typed = {f.name for f in fields(FAMILIES[protocol.family].state) if str(f.type).startswith("bool")}
    read = {name for _, rule in protocol.rules() for name in names_read(rule)}
    return tuple(sorted(typed & read))


def other_rules(handler: str, rule: Rule, protocol: Protocol) -> tuple[Rule, ...]:
    """Rules of the same handler in other protocols that do the same thing otherwise: who lacks one of them is
    told in the same words."""
    own = {each.name for _, each in protocol.rules()}
    others = (o for p in OF_FAMILY[protocol.family] if handler in p.handlers for o in p[handler].rules)
    like = {o.name: o for o in others if o.lacking == rule.lacking and o.name not in own}
    return tuple(like.values()) if rule.lacking else ()


PEER, PEER_IN_TOPIC, PEER_AND_ID = (
    "Mapping[Peer, ",
    "Mapping[tuple[str, Peer], ",
    "Mapping[tuple[Peer, str], ",
)
"""How the type of a field begins that is kept of a peer, of a peer in a topic, and of a peer and an id."""
MAPPING = "Mapping["


@lru_cache
def fields_by_peer(family: str) -> Mapping[str, str]:
    """Fields of the state that are kept of each peer, with how their types begin."""
    starts = (PEER, PEER_IN_TOPIC, PEER_AND_ID)
    return {name: start for name, of in _mappings(family).items() for start in starts if of.startswith(start)}


def _mappings(family: str) -> Mapping[str, str]:
    """Fields of the state that are mappings, with their types."""
    typed = {f.name: str(f.type) for f in fields(FAMILIES[family].state) if f.init}
    hidden = UNSEEABLE | FREEDOM
    return {name: of for name, of in typed.items() if of.startswith(MAPPING) and name not in hidden}


@frozen
class RuleOperators:
    """What the operators make of one rule."""

    rule: Rule
    family: str
    is_step: bool
    is_term: bool
    of_topic: bool = False
    """Whether it is a term of the score of one topic."""
    is_control: bool = False
    """Whether it answers what a peer sends to the router alone."""
    is_only_answer: bool = False
    """Whether no other rule answers that."""
    is_number: bool = False
    """Whether it alone works out a number."""
    in_sum: bool = False
    """Whether it is also a term among others."""
    of_topics: bool = False
    """Whether it goes through the topics of a heartbeat."""
    may_wait: bool = False
    """Whether a heartbeat comes after it, up to which what it sends can wait."""
    checks: str = ""
    """The handler, of which it is one of several checks and not the last one."""
    switches: tuple[str, ...] = ()
    """Those of the state that some rule of its protocol reads."""
    others: tuple[Rule, ...] = ()
    """Rules of other protocols in its place."""

    @property
    def parameters(self) -> type:
        return FAMILIES[self.family].parameters

    @property
    def name(self) -> str:
        return words_of(self.rule.name)

    def all(self) -> Iterator[OperatorEdit]:
        """The likeliest first."""
        kinds = (
            self._steps() if self.is_step else (),
            self._others(),
            self._views(),
            self._values(),
            self._fields() if self.is_step else (),
            self._clocks(),
            self._whom() if self.is_step else (),
            self._flaws() if self.is_step else (),
            self._terms() if self.is_term else (),
            self._switches() if self.is_step else (),
            self._passed_on() if self.is_control else (),
            self._left_out() if self.is_step else (),
            self._altering() if self.is_step and self.family == PUBSUB_FAMILY else (),
            self._announced() if self.is_step else (),
            self._deaf() if self.is_only_answer else (),
            self._to_another() if self.is_step else (),
            self._scores(),
            self._goes_on() if self.checks else (),
            self._sent_back() if self.is_step else (),
            self._marks_seen() if self.checks == MESSAGE else (),
            self._topics() if self.of_topics else (),
            self._every_topic() if self.is_step else (),
            self._later() if self.is_step and self.family == PUBSUB_FAMILY else (),
        )
        for rank, made in enumerate(kinds):
            yield from (evolve(one, rank=rank) for one in made)

    def _made(
        self,
        name: str,
        says: str,
        change: Callable[[Rule], Rule],
        matters: Matters = _called,
        worth: Matters | None = None,
    ) -> OperatorEdit:
        changing = partial(_with_changed, name=self.rule.name, change=change)
        when = asking_words if matters is _called else when_words
        said = f"{says} {when(self.rule)}"
        edit = Edit(name, "replaced", self.rule.clause, said, changing, rule=self.rule.name)
        return OperatorEdit(edit, (self.rule.name,), matters, worth)

    def _steps(self) -> Iterator[OperatorEdit]:
        for operator, (says, change, matters) in _STEPS.items():
            if operator in FAMILIES[self.family].without:
                continue
            yield self._made(f"{operator}-{self.name}", says, change, matters)

    def _left_out(self) -> Iterator[OperatorEdit]:
        reads = names_read(self.rule)
        for name, (kinds, default) in FAMILIES[self.family].optional.items():
            if not reads.isdisjoint(kinds):
                change = partial(wrapped.after, wrapped.leaving_out(name, default))
                says = words.leaving_out_field(name, handed_over="PartialIn" in reads)
                word = f"{words_of(name)}-left-out-{self.name}"
                yield self._made(word, says, change, partial(_carried, name))

    def _altering(self) -> Iterator[OperatorEdit]:
        for word, (says, change, kind) in _ALTERED.items():
            if Sent.__name__ in names_read(self.rule):
                made = self._made(f"{word}-{self.name}", says, change, partial(_sent, kind))
                # What it should look like, another sentence says than the one that it follows.
                yield evolve(made, edit=evolve(made.edit, clause=""))

    @property
    def takes(self) -> str:
        """The kind of part that it takes, as `Prune`; empty for another rule."""
        whole = "ReceivedPart["
        taken = (str(each) for each in self.rule.apply.__annotations__.values())
        return next((each[len(whole) : -1] for each in taken if each.startswith(whole)), "")

    def _every_topic(self) -> Iterator[OperatorEdit]:
        if self.takes in OF_ONE_TOPIC and not self.checks:
            says = "Acts in all its topics, and not only in the one that is named,"
            yield self._made(f"{self.name}-in-every-topic", says, wrapped.for_every_topic)

    def _later(self) -> Iterator[OperatorEdit]:
        """What the rule did has a part in what comes later: of the RPC, until the heartbeat, or ever."""
        if self.takes in CONTROL_PARTS:
            for word, says, kind in (
                ("ends-its-kind", f"Reads no more {words.PARTS_NAMED[self.takes]} of an RPC", self.takes),
                ("ends-rpc", "Reads no more of an RPC", ANY_KIND),
            ):
                change = partial(wrapped.after, partial(wrapped.ending_rpc, kind))
                yield self._made(f"{word}-{self.name}", says, change, _applied)
        if Sent.__name__ not in names_read(self.rule):
            yield from self._pruned() if self.takes == Graft.__name__ and self.checks else ()
            return
        change = partial(wrapped.after, partial(wrapped.once, self.name))
        says = "Sends the same thing to a peer only the first time"
        yield self._made(f"once-{self.name}", says, change, _permitted)
        if self.may_wait:
            holding = partial(_holding, name=self.rule.name)
            says = f"Waits for the next heartbeat to send what is due {when_words(self.rule)}"
            edit = Edit(f"held-{self.name}", "replaced", self.rule.clause, says, holding, rule=self.rule.name)
            yield OperatorEdit(edit, (self.rule.name,), _permitted)

    def _pruned(self) -> Iterator[OperatorEdit]:
        for word, says, backs_off in (
            ("prunes", "Answers with PRUNE", False),
            ("refuses", "Answers with PRUNE, and starts a backoff,", True),
        ):
            change = partial(wrapped.answering_with_prune, backs_off)
            yield self._made(f"{word}-{self.name}", says, change, _applied)

    def _announced(self) -> Iterator[OperatorEdit]:
        for name, (kind, absent) in FAMILIES[self.family].announced.items():
            if self.takes != kind or name not in names_read(self.rule):
                continue
            said, reading = words.ANNOUNCED[name], partial(partial, wrapped.reading_field, name)
            word = f"{self.name}-reads-no-{words_of(name)}"
            yield self._made(word, f"Ignores {said}", reading(partial(_constant, absent)))
            if name in SECONDS:
                word = f"{self.name}-reads-{words_of(name)}-as-ms"
                yield of_number(self._made(word, f"Takes {said} for milliseconds", reading(_thousandth)))

    def _others(self) -> Iterator[OperatorEdit]:
        for other in self.others:
            name = f"{self.name}-as-{words_of(other.name)}"
            yield self._made(
                name, "Does what another version of the protocol asks", partial(_doing_as, other)
            )

    def _switches(self) -> Iterator[OperatorEdit]:
        for each in self.switches:
            for word, says, value in zip(
                ("sets", "clears"), words.SWITCHES[each], (True, False), strict=True
            ):
                change = partial(wrapped.after, wrapped.setting(each, value))
                yield self._made(f"{word}-{words_of(each)}-{self.name}", says, change, _applied)

    def _passed_on(self) -> Iterator[OperatorEdit]:
        says = "Passes on what it receives to all other peers"
        yield self._made(f"passes-on-{self.name}", says, wrapped.passing_on, _applied)

    def _goes_on(self) -> Iterator[OperatorEdit]:
        for word, says, sends in (
            ("goes-on", "Updates its own state, sends what is due and still goes on to its next check", True),
            ("goes-on-silently", "Updates its own state, sends nothing and goes on to its next check", False),
        ):
            change = partial(wrapped.going_on, self.checks, sends)
            # One that sends nothing is as if it were not there.
            yield self._made(f"{word}-{self.name}", says, change, _permitted)

    def _topics(self) -> Iterator[OperatorEdit]:
        for end, (said, _) in wrapped.TOPIC_ENDS.items():
            for order, (ordered, _) in wrapped.TOPIC_ORDERS.items():
                change = partial(wrapped.for_some_topics, order, end)
                yield self._made(f"{self.name}-{end}-{order}", f"{said} ({ordered})", change)

    def _marks_seen(self) -> Iterator[OperatorEdit]:
        yield self._made(
            f"marks-seen-{self.name}", "Marks the message as seen", wrapped.marking_seen, _applied
        )

    def _sent_back(self) -> Iterator[OperatorEdit]:
        if "part" in names_read(self.rule):
            says = "Sends what it receives back to its sender"
            made = self._made(f"sends-back-{self.name}", says, wrapped.sending_back, _applied)
            # What must not be sent back, another sentence says than the one that it follows.
            yield evolve(made, edit=evolve(made.edit, clause=""))

    def _to_another(self) -> Iterator[OperatorEdit]:
        says = "Sends its answer to the wrong peer"
        if Sent.__name__ in names_read(self.rule):
            yield self._made(f"to-another-{self.name}", says, wrapped.to_another, _permitted)

    def _deaf(self) -> Iterator[OperatorEdit]:
        for whom, (said, asked) in FAMILIES[self.family].whom.items():
            deaf = partial(wrapped.deaf_to, asked)
            yield self._made(f"{self.name}-deaf-to-{whom}", f"Ignores {said}", deaf)

    def _flaws(self) -> Iterator[OperatorEdit]:
        for flaw, (said, clause) in words.FLAWS.items() if "flaw" in names_read(self.rule) else ():
            flaws = words.OVERLOOKED.get(flaw, frozenset({flaw}))
            overlooking = partial(wrapped.overlooking, flaws)
            made = self._made(f"{self.name}-overlooks-{flaw}", f"Does not look for {said}", overlooking)
            # Nothing is dropped then, so that the words of the rule would say what does not happen.
            says = f"Takes a message with {said}, which breaks the signature policy."
            edit = evolve(made.edit, clause=clause or self.rule.clause, says=says)
            yield evolve(made, edit=edit)

    def _terms(self) -> Iterator[OperatorEdit]:
        for operator, (says, factor) in _TERMS.items():
            yield self._made(f"{self.name}-{operator}", says, partial(wrapped.times, *factor))
        for operator, (says, factor) in _IN_SUMS.items() if self.is_number and self.in_sum else ():
            says = f"Where score parameters are set, {says}"
            yield self._made(f"{self.name}-{operator}", says, partial(wrapped.times_in_sum, *factor))
        for word, more in _OFF_BY_ONE.items() if self.is_number else ():
            says = f"Uses the result {words.PLUS[more]} one"
            yield of_number(self._made(f"{self.name}-{word}", says, partial(wrapped.plus, more)))
        if self.of_topic:
            says = "Treats peers that have left the mesh as members"
            yield self._made(f"{self.name}-sees-former-members", says, wrapped.of_former_members)

    def _scores(self) -> Iterator[OperatorEdit]:
        read = names_read(self.rule)
        for name, readings in _score_readings().items():
            for word, says, change in readings if name in read else ():
                yield of_number(self._made(f"{self.name}-{word}", says, change))
        for name, other, says in _of_another_counter(read):
            reading = partial(wrapped.reading_score_parameter, name, partial(_read, other))
            made = self._made(f"{self.name}-{words_of(name)}-as-{words_of(other)}", says, reading)
            # These words tell what of the rule it is.
            yield of_number(evolve(made, edit=evolve(made.edit, says=f"{says}.")))
        if wrapped.squares(self.rule):
            yield self._made(f"{self.name}-unsquared", "Does not square what it counts", wrapped.unsquared)

    def _fields(self) -> Iterator[OperatorEdit]:
        for each in sorted(STATE_FIELDS[self.family]):
            says = f"Does not update {words.STATE[self.family][each]}"
            keeping = partial(wrapped.keeping, each)
            yield self._made(
                f"{self.name}-keeps-{words_of(each)}",
                says,
                keeping,
                partial(_changed_in, each),
                _changed_more,
            )
        for each in sorted({*fields_by_peer(self.family)} & names_read(self.rule)):
            for whom, (said, asked) in FAMILIES[self.family].whom.items():
                says = f"Does not update {words.STATE[self.family][each]} for {said}"
                keeping = partial(wrapped.keeping_of, each, asked)
                changed = partial(_changed_in, each)
                yield self._made(f"{self.name}-keeps-{words_of(each)}-of-{whom}", says, keeping, changed)

    def _whom(self) -> Iterator[OperatorEdit]:
        for whom, (said, asked) in FAMILIES[self.family].whom.items():
            alone, too = partial(wrapped.to_alone, asked), partial(wrapped.to_these_too, asked)
            yield self._made(f"{self.name}-to-{whom}", f"Sends only to {said}", alone, _permitted)
            yield self._made(f"{self.name}-to-{whom}-too", f"Also sends to {said}", too, _permitted)

    def _values(self) -> Iterator[OperatorEdit]:
        for parameter in sorted(names_read(self.rule) & _plain_ones(self.parameters)):
            for word, said, value in _values(parameter, self.parameters):
                reading = partial(wrapped.reading_parameter, parameter, value)
                yield of_number(self._made(f"{self.name}-{words_of(parameter)}-as-{word}", said, reading))

    def _clocks(self) -> Iterator[OperatorEdit]:
        # What scores make of time is another matter.
        if "now_ms" not in names_read(self.rule) or self.rule.clause.startswith(SCORES):
            return
        for clock, (said, change) in wrapped.CLOCKS.items():
            reading = partial(wrapped.reading_clock, change)
            yield of_number(self._made(f"{self.name}-clock-{clock}", said, reading))

    def _views(self) -> Iterator[OperatorEdit]:
        reads = names_read(self.rule)
        for view, (about, said, _) in FAMILIES[self.family].views.items():
            if about & reads:
                made = self._made(f"{self.name}-sees-{view}", said, partial(wrapped.sees, view))
                # What older versions are not sent, another sentence says than the one that the rule follows.
                yield evolve(made, edit=evolve(made.edit, clause="")) if view in words.OF_VERSIONS else made
        for each in sorted(STATE_FIELDS[self.family] & reads - UNSEEABLE):
            says = f"Ignores {words.STATE[self.family][each]}"
            blind = partial(wrapped.blind_to, each)
            yield self._made(f"{self.name}-sees-no-{words_of(each)}", says, blind)
        # Rules that are asked for the peers would see it too, and one of them is what the edit is about.
        chooses = wrapped.CHOOSER in reads
        for name, keys in fields_by_peer(self.family).items():
            if name in reads - UNSEEABLE and not chooses:
                yield from self._shared(name, keys)

    def _shared(self, name: str, keys: str) -> Iterator[OperatorEdit]:
        said = words.STATE[self.family][name]
        for word, which, over_others in ways_to_share(keys):
            share = partial(wrapped.of_anybody, name, over_others)
            says = f"Does not tell {which} apart in {said}"
            made = self._made(f"{self.name}-sees-{words_of(name)}-of-{word}", says, share)
            # Who counts for one peer what another asked for does not keep to a limit: it answers too little.
            yield made if keys != PEER_AND_ID else evolve(made, edit=evolve(made.edit, clause=""))


def ways_to_share(keys: str) -> Iterator[tuple[str, str, bool]]:
    """What a router may not tell apart in a field whose keys are these: (word, words, whether it is the other
    half of a key than the peer)."""
    yield "anybody", "peers", False
    if keys != PEER:
        other = "topic" if keys == PEER_IN_TOPIC else "message"
        yield f"any-{other}", f"{other}s", True


def of_number(made: OperatorEdit) -> OperatorEdit:
    return evolve(made, edit=evolve(made.edit, of_number=True))


def _of_another_counter(read: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """A parameter of one counter of a topic, that of another counter for which it may be taken, and words."""
    for end, says in words.FOR_ANOTHER.items():
        of_topics = (f.name.removesuffix(end) for f in fields(TopicScoreParameters) if f.name.endswith(end))
        counters = [name for name in of_topics if name in words.OF_COUNTERS]
        for name, other in permutations(counters, 2):
            if name + end in read:
                told = says.format(words.OF_COUNTERS[name], words.OF_COUNTERS[other])
                yield name + end, other + end, told


def _constant(value: Any, _: Any) -> Any:
    return value


def _plus(name: str, more: float, parameters: Any) -> Any:
    return getattr(parameters, name) + more


def _thousandth(seconds: float) -> float:
    return seconds / 1000


def _read(name: str, parameters: Any) -> Any:
    return getattr(parameters, name)


def _values(name: str, parameters: type) -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """Other values of a parameter: (what stands in the name of the edit, words, value of the parameters)."""
    default = next(f.default for f in fields(parameters) if f.name == name)
    said = partial(words.instead, name)
    if isinstance(default, bool):
        yield "switched", said("switched"), lambda p: not getattr(p, name)
        return
    number = isinstance(default, int | float)
    if number:
        sign = -1 if default < 0 else 1
        yield "endless", said("endless", negative=sign < 0), lambda p: sign * wrapped.ENDLESS
        yield "one-more", said("one-more"), lambda p: getattr(p, name) + 1
        yield "one-less", said("one-less"), lambda p: getattr(p, name) - 1
        yield "zero", said("zero"), lambda p: 0
        yield "half", said("half"), lambda p: _times(getattr(p, name), 0.5)
        yield "double", said("double"), lambda p: _times(getattr(p, name), 2)
    yield "default", said("default" if number else "none"), lambda p: default
    for sibling in sorted(next((s for s in SIBLINGS if name in s), frozenset()) - {name}):
        if sibling in {f.name for f in fields(parameters)}:
            yield words_of(sibling), words.taken_for(name, sibling), partial(_read, sibling)


def _times(value: float, factor: float) -> float:
    """A whole number stays one."""
    return int(value * factor) if isinstance(value, int) else value * factor


def _plain_ones(parameters: type) -> set[str]:
    """Numbers, switches and sets: for others there is no other value that a rule could take by mistake."""
    return {f.name for f in fields(parameters) if isinstance(f.default, int | float | frozenset)}


@lru_cache(maxsize=64)
def operated(protocol: Protocol) -> Mapping[str, OperatorEdit]:
    """Name -> edit, for every rule."""
    found = {made.edit.name: made for operators in _operators(protocol) for made in operators.all()}
    found |= {edit.name: OperatorEdit(edit, (base,), _called) for edit, base in _also(protocol)}
    found |= {edit.name: OperatorEdit(edit, (base,), _called) for edit, base in _of_all(protocol)}
    found |= {edit.name: OperatorEdit(edit, (name,), _called) for edit, name in _taking(protocol)}
    found |= {edit.name: OperatorEdit(edit, names, _called) for edit, names in _everywhere(protocol)}
    flawed: list[tuple[str, str, Callable[[Rule], Rule]]] = [
        (flaw, f"Publishes messages with {said}.", partial(wrapped.publishing_with, flaw))
        for flaw, (said, _) in words.FLAWS.items()
        if flaw not in words.OVERLOOKED
    ]
    flawed.append(("stale-seqno", words.STALE, wrapped.publishing_stale))
    found |= {
        edit.name: OperatorEdit(edit, names, _called) for edit, names in edits_of_publishing(protocol, flawed)
    }
    found |= {edit.name: OperatorEdit(edit, names, _called) for edit, names in edits_of_sets(protocol)}
    found |= {edit.name: OperatorEdit(edit, names, _called) for edit, names in edits_of_sums(protocol)}
    found |= {
        edit.name: OperatorEdit(edit, names, _called) for edit, names in edits_of_reconnecting(protocol)
    }
    of_several = (_of_answers, _forgetting, _judging, _passing_on_altered, _ordering)
    found |= {made.edit.name: made for makes in of_several for made in makes(protocol)}
    return found


def _operators(protocol: Protocol) -> Iterator[RuleOperators]:
    """Those of each rule that is not too wide."""

    def of_kind(*kinds: type[Combined]) -> set[str]:
        return {r.name for c in protocol.handlers.values() if isinstance(c, kinds) for r in c.rules}

    steps, terms = of_kind(FirstMatch, Phases), of_kind(Total)
    of_topic = {rule.name for handler, rule in protocol.rules() if handler == "topic_score"}
    sums = [[rule.name for rule in c.rules] for c in protocol.handlers.values() if isinstance(c, Total)]
    alone = {names[0] for names in sums if len(names) == 1}
    in_sums = {name for names in sums if len(names) > 1 for name in names}
    handlers = {each.name: name for name, each in protocol.rules() if each.name not in TOO_WIDE}
    for rule in {each.name: each for _, each in protocol.rules() if each.name not in TOO_WIDE}.values():
        handler = handlers[rule.name]
        yield RuleOperators(
            rule,
            protocol.family,
            is_step=rule.name in steps,
            is_term=rule.name in terms,
            of_topic=rule.name in of_topic,
            is_control=handler in words.ANSWERS.keys() - words.RELAYED and rule.name in steps,
            is_only_answer=handler in words.ANSWERS and len(protocol[handler].rules) == 1,
            is_number=rule.name in alone,
            in_sum=rule.name in in_sums,
            of_topics=handler == HEARTBEAT and not names_read(rule).isdisjoint(wrapped.TOPICS_OF_HEARTBEAT),
            may_wait=handler != HEARTBEAT and isinstance(protocol.handlers.get(HEARTBEAT), Phases),
            checks=handler if _is_followed(rule, protocol[handler]) else "",
            switches=switches_of(protocol),
            others=other_rules(handler, rule, protocol),
        )


def _passing_on_altered(protocol: Protocol) -> Iterator[OperatorEdit]:
    """An edit of all rules that send what came from others: it is altered."""
    names = tuple(
        dict.fromkeys(
            rule.name
            for handler, rule in protocol.rules()
            if handler not in PUBLISHING
            and isinstance(protocol[handler], FirstMatch | Phases)
            and rule.name not in TOO_WIDE
            and Sent.__name__ in names_read(rule)
        )
    )
    changing = partial(changed_rules, names=names, change=wrapped.altering)
    says = "Alters the messages that it passes on."
    edit = Edit(f"{EVERYWHERE}passed-on-altered", "replaced", "", says, changing)
    if protocol.family == PUBSUB_FAMILY and len(names) > 1:
        yield OperatorEdit(edit, names, partial(_sent, Message))


def _is_followed(rule: Rule, combined: Combined) -> bool:
    return isinstance(combined, FirstMatch) and combined.rules[-1].name != rule.name


def _of_answers(protocol: Protocol) -> Iterator[OperatorEdit]:
    """Edits of all rules that answer one thing: they send nothing, do not change the state, or ignore some
    peers."""
    kept = {f"keeps-{words_of(name)}": name for name in sorted(STATE_FIELDS[protocol.family])}
    readings: list[Reading] = [
        (word, f"Does not update {words.STATE[protocol.family][name]}", partial(wrapped.keeping, name))
        for word, name in kept.items()
    ]
    steps = {name: _STEPS[name] for name in ("silent", "idle")}
    readings += [(name, says, change) for name, (says, change, _) in steps.items()]
    for whom, (said, asked) in FAMILIES[protocol.family].whom.items():
        readings.append((f"deaf-to-{whom}", f"Ignores {{}} from {said}", partial(wrapped.deaf_to, asked)))
    marks = ("marks-seen", "Marks {} as seen before it looks at it", wrapped.marking_seen)
    of_messages = edits_of_answers(protocol, [marks], (MESSAGE,))
    for edit, word, names in (*edits_of_answers(protocol, readings), *of_messages):
        matters = steps[word][2] if word in steps else _called
        if word in kept:
            matters = partial(_changed_in, kept[word])
        yield OperatorEdit(edit, names, matters)


def _judging(protocol: Protocol) -> Iterator[OperatorEdit]:
    """Edits of all rules on a verdict of the application: one is taken for another."""
    handler = protocol.handlers.get("verdict")
    names = tuple(rule.name for rule in handler.rules) if isinstance(handler, FirstMatch) else ()
    for judgement, says in words.JUDGED.items() if names else ():
        for other, as_such in words.AS_JUDGED.items():
            if other != judgement:
                change = partial(wrapped.taking_verdict, judgement, other)
                changing = partial(changed_rules, names=names, change=change)
                named = f"{EVERYWHERE}in-verdict-{judgement}-as-{other}"
                edit = Edit(named, "replaced", "", f"Treats as {as_such} the messages {says}.", changing)
                yield OperatorEdit(edit, names, _called)


def _ordering(protocol: Protocol) -> Iterator[OperatorEdit]:
    """Edits of the order of a heartbeat: one thing comes before all others, or after them."""
    beats = protocol.handlers.get(HEARTBEAT)
    rules = beats.rules if isinstance(beats, Phases) else ()
    for place, said, end in (("first", "before", rules[:1]), ("last", "after", rules[-1:])):
        for rule in rules:
            if not rule.when or rule in end:
                continue
            does = rule.when.removeprefix("it ").replace(" at the heartbeat", "")
            says = f"{does[0].upper()}{does[1:]}, and does so {said} all else at the heartbeat."
            change = partial(_reordered, name=rule.name, first=place == "first")
            named = f"{place}-{words_of(rule.name)}"
            edit = Edit(named, "replaced", rule.clause, says, change, rule=rule.name)
            yield OperatorEdit(edit, (rule.name,), _called)


def _reordered(protocol: Protocol, *, name: str, first: bool) -> Protocol:
    beats = protocol.handlers.get(HEARTBEAT)
    moved = tuple(rule for rule in beats.rules if rule.name == name) if isinstance(beats, Phases) else ()
    if not isinstance(beats, Phases) or not moved:
        raise SpecError(f"{protocol.name} has no rule {name!r} at its heartbeat")
    others = tuple(rule for rule in beats.rules if rule.name != name)
    return protocol.extended(
        protocol.name, **{HEARTBEAT: Phases((*moved, *others) if first else (*others, *moved))}
    )


def _forgetting(protocol: Protocol) -> Iterator[OperatorEdit]:
    """Edits of the first rule on what happens: with it the router forgets more than it should."""
    by_peer = fields_by_peer(protocol.family)
    in_topic = [name for name, keys in by_peer.items() if keys == PEER_IN_TOPIC]
    of_peers = [name for name, keys in by_peer.items() if keys == PEER]
    for handler, says in words.FORGETTING.items():
        combined = protocol.handlers.get(handler)
        if not isinstance(combined, Phases) or not combined.rules:
            continue
        of_peer = by_peer if handler in words.FORGETTING_A_PEER else in_topic
        of_sender = of_peers if handler in words.FORGETTING_THE_SENDER else []
        first = combined.rules[0].name
        every = _mappings(protocol.family) if handler == words.FORGETTING_ALL else of_peer
        for name in (*every, *of_sender):
            if name not in words.NOT_FORGOTTEN:
                saying = words.FORGETTING_THE_SENDER[handler] if name in of_sender else says
                said = saying.format(words.STATE[protocol.family][name])
                change = partial(_with_changed, name=first, change=partial(wrapped.forgetting, name))
                named = f"{words_of(handler)}{FORGETS}{words_of(name)}"
                # Which sentence it breaks, a run says.
                edit = Edit(named, "replaced", "", said, change, rule=first)
                yield OperatorEdit(edit, (first,), _called)


def _changed_more(use: RuleUse) -> bool:
    return len(use.changed) > 1


def _changed_in(name: str, use: RuleUse) -> bool:
    return name in use.changed


def _score_readings() -> dict[str, list[Reading]]:
    """Parameters of scores that a router is without, or misses by one."""
    found: dict[str, list[Reading]] = {}
    for name, (says, value) in sorted(words.SCORES.items()):
        change = partial(wrapped.reading_score_parameter, name, partial(_constant, value))
        found[name] = [(f"without-{words_of(name)}", says, change)]
    for name, said in sorted(words.SCORE_THRESHOLDS.items()):
        found[name] = [
            (
                f"{words_of(name)}-as-{word}",
                f"Uses {said} {words.PLUS[more]} one",
                partial(wrapped.reading_score_parameter, name, partial(_plus, name, more)),
            )
            for word, more in _OFF_BY_ONE.items()
        ]
    return found


def _everywhere(protocol: Protocol) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits of all rules that read a parameter, what a view is about, or a field of the state."""
    family = FAMILIES[protocol.family]
    rules = tuple({r.name: r for _, r in protocol.rules() if r.name not in TOO_WIDE}.values())
    readings: dict[str, list[Reading]] = {}
    for name in sorted(_plain_ones(family.parameters)):
        readings[name] = [
            (f"{words_of(name)}-as-{word}", said, partial(wrapped.reading_parameter, name, value))
            for word, said, value in _values(name, family.parameters)
        ]
    views: dict[frozenset[str], list[Reading]] = {}
    for view, (about, said, _) in family.views.items():
        views.setdefault(about, []).append((f"sees-{view}", said, partial(wrapped.sees, view)))
    yield from edits_everywhere(rules, views)
    for name in sorted(STATE_FIELDS[protocol.family] - UNSEEABLE):
        blind = partial(wrapped.blind_to, name)
        says = f"Ignores {words.STATE[protocol.family][name]}"
        readings.setdefault(name, []).append((f"sees-no-{words_of(name)}", says, blind))
        says = f"Does not update {words.STATE[protocol.family][name]}"
        readings[name].append((f"keeps-{words_of(name)}", says, partial(wrapped.keeping, name)))
    for name, shared in _shared_everywhere(protocol):
        readings.setdefault(name, []).append(shared)
    compared = {tuple(sorted(like & names_read(rule))) for like in LIMITS for rule in rules}
    for limits in sorted(compared):
        # Who reads one of them reads the others.
        for word, more in _OFF_BY_ONE.items() if len(limits) > 1 else ():
            said = " and ".join(words.PARAMETERS[limit] for limit in limits)
            reading = partial(wrapped.reading_all, limits, more)
            name = f"{'-and-'.join(map(words_of, limits))}-as-{word}"
            readings[limits[0]].append((name, f"Uses {said} {words.PLUS[more]} one", reading))
    yield from edits_everywhere(rules, readings | _score_readings())
    misformed: dict[str, list[Reading]] = {
        kinds[0].__name__ if len(kinds) == 1 else Sent.__name__: [
            (
                f"{words_of(name)}-with-wrong-{fault}",
                f"Sends each {words.SENT[name]} {words.FAULTS[fault]}",
                partial(wrapped.misforming, kinds, fault),
            )
            for fault in faults
        ]
        for name, (kinds, faults) in family.sends.items()
    }
    yield from edits_everywhere(rules, misformed, shown=True)
    bare: dict[str, list[Reading]] = {}
    for name, (kinds, default) in family.optional.items():
        change = partial(wrapped.after, wrapped.leaving_out(name, default))
        says = words.leaving_out_field(name, handed_over=kinds[-1] == "PartialIn")
        bare.setdefault(kinds[-1], []).append((f"{words_of(name)}-left-out", says, change))
    yield from edits_everywhere(rules, bare, shown=True)


def _shared_everywhere(protocol: Protocol) -> Iterator[tuple[str, Reading]]:
    """Fields of the state, in which every rule does not tell peers, topics or messages apart."""
    for name, keys in fields_by_peer(protocol.family).items():
        for word, which, over_others in ways_to_share(keys):
            share = partial(wrapped.of_anybody, name, over_others)
            says = f"Does not tell {which} apart in {words.STATE[protocol.family][name]}"
            yield name, (f"sees-{words_of(name)}-of-{word}", says, share)


def _doing_as(other: Rule, rule: Rule) -> Rule:
    return evolve(rule, apply=other.apply)


def _holding(protocol: Protocol, *, name: str) -> Protocol:
    """The protocol in which what a rule sends waits for the heartbeat."""
    return wrapped.releasing(_with_changed(protocol, name=name, change=partial(wrapped.after, wrapped.held)))


def _with_changed(protocol: Protocol, *, name: str, change: Callable[[Rule], Rule]) -> Protocol:
    """Raises SpecError where the protocol has no such rule."""
    rule = next((each for _, each in protocol.rules() if each.name == name), None)
    if rule is None:
        raise SpecError(f"{protocol.name} has no rule {name!r}")
    return protocol.with_rule(name, change(rule))


def _also(protocol: Protocol) -> Iterator[tuple[Edit, str]]:
    """Sets that leave out also those whom a like set leaves out, with the base of the set."""
    sets = {h: c for h in SETS_OF_A_TOPIC if isinstance(c := protocol.handlers.get(h), Exclusion)}
    for handler, own in sets.items():
        known = {words.excluded(each) for each in own.exclusions}
        # Of two that leave out the same peers the first one does so always.
        others = {words.excluded(e): e for o in reversed(sets.values()) for e in reversed(o.exclusions)}
        for other in (e for whom, e in others.items() if whom not in known):
            says = words.leaving_out(handler, other)
            change = partial(_leaving_out, handler=handler, other=other)
            name = f"{words_of(handler)}-also-{words_of(other.name)}"
            base = own.base
            yield Edit(name, "replaced", base.clause, says, change, rule=base.name), base.name


def _of_all(protocol: Protocol) -> Iterator[tuple[Edit, str]]:
    """Sets that are chosen from all peers, whoever is in their base."""
    for handler, combined in protocol.handlers.items():
        if isinstance(combined, Exclusion):
            base = combined.base
            change = partial(_with_changed, name=base.name, change=wrapped.of_all_peers)
            says = f"Takes all its peers {when_words(base)}"
            yield (
                Edit(f"{words_of(handler)}-of-all", "replaced", base.clause, says, change, rule=base.name),
                base.name,
            )


def _taking(protocol: Protocol) -> Iterator[tuple[Edit, str]]:
    """One of several rules that choose from a set, which takes whom an exclusion leaves out of it."""
    sets = {name: c for name, c in protocol.handlers.items() if isinstance(c, Exclusion)}
    rules = {each.name: each for _, each in protocol.rules() if each.name not in TOO_WIDE}
    asked = {each: sets_asked(each, frozenset(sets)) for each in rules.values()}
    for handler, combined in sets.items():
        choosing = [rule for rule, names in asked.items() if handler in names]
        for rule in choosing if len(choosing) > 1 else ():
            for exclusion in combined.exclusions:
                says = f"{exclusion.lacking.removesuffix('.')} {when_words(rule)}"
                name = f"{words_of(rule.name)}-takes-{words_of(exclusion.name)}"
                change = partial(
                    _with_changed, name=rule.name, change=partial(wrapped.taking, exclusion.name)
                )
                yield Edit(name, "replaced", exclusion.clause, says, change, rule=rule.name), rule.name


def _leaving_out(protocol: Protocol, *, handler: str, other: Rule) -> Protocol:
    old = protocol.handlers[handler]
    if not isinstance(old, Exclusion):
        raise SpecError(f"{protocol.name} has no set {handler!r}")
    changed = Exclusion(old.base, (*old.exclusions, other))
    return evolve(protocol, handlers={**protocol.handlers, handler: changed})
