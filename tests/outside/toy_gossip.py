"""A gossipsub v1.1 router by somebody who has read the specification and not our router, with five bugs.

Each bug has been in a released router. TOY_BUGS names those that are on, with commas between them; without it
there are none. In process: `python:toy_gossip:open_toy`.
"""

import os
import random

import toy_core
from quidnunc.impl.seam import Delivery, Hello, Reply
from quidnunc.impl.wire_pb2 import RPC

BUGS = {
    "echo": "a message goes back to the peer that forwarded it (js-libp2p, before 0.13.2)",
    "bare-leave": "the PRUNE upon Leave announces no backoff (rust-libp2p and go-libp2p had the wrong one)",
    "old-ihave": "IHAVE lists everything in the cache, not the newest windows alone",
    "early-graft": "a GRAFT inside the backoff is accepted",
    "fanout-forever": "the fanout of a silent topic is never dropped (py-libp2p, before 0.2.9)",
}
FLOODSUB, V10 = "/floodsub/1.0.0", "/meshsub/1.0.0"


class Peer:
    def __init__(self, stream, outbound):
        self.floods = stream == FLOODSUB
        self.knows_backoff = stream not in (FLOODSUB, V10)
        self.outbound = outbound
        self.topics = set()


class Router:
    """What it has to say gathers in `out`, an RPC for each peer, and in `delivered`."""

    def __init__(self, parameters, seed, bugs):
        self.p, self.die, self.bugs = parameters, random.Random(seed), bugs
        self.now, self.beats = 0, 0
        self.next_beat = parameters.heartbeat_delay_ms
        self.peers, self.scores = {}, {}
        self.joined, self.mesh, self.fanout, self.published = set(), {}, {}, {}
        self.backoff = {}
        self.seen = {}
        self.windows = [[] for _ in range(parameters.mcache_len)]
        self.cache, self.served = {}, {}
        self.ihaves, self.ids_heard = {}, {}
        self.seqno = 0
        self.out, self.delivered = {}, []

    # -- what it sends ---------------------------------------------------------------------------------

    def to(self, peer):
        return self.out.setdefault(peer, RPC())

    def say_subscribed(self, peer, topic, yes):
        self.to(peer).subscriptions.add(topicid=topic, subscribe=yes)

    def say_graft(self, peer, topic):
        self.to(peer).control.graft.add(topicID=topic)

    def say_prune(self, peer, topic, seconds):
        prune = self.to(peer).control.prune.add(topicID=topic)
        if seconds is not None and self.peers[peer].knows_backoff:
            prune.backoff = seconds

    def send(self, peer, message):
        self.to(peer).publish.add().CopyFrom(message)

    # -- who is who ------------------------------------------------------------------------------------

    def members(self, topic):
        return {peer for peer, each in self.peers.items() if topic in each.topics}

    def gossipers(self, topic):
        return {peer for peer in self.members(topic) if not self.peers[peer].floods}

    def floodsubs(self, topic):
        return {peer for peer in self.members(topic) if self.peers[peer].floods}

    def score(self, peer):
        return self.scores.get(peer, 0)

    def some(self, peers, count):
        pool = sorted(peers)
        return self.die.sample(pool, max(0, min(count, len(pool))))

    def outbound(self, peers):
        return {peer for peer in peers if self.peers[peer].outbound}

    # -- connections -----------------------------------------------------------------------------------

    def connect(self, peer, stream, outbound):
        self.peers[peer] = Peer(stream, outbound)
        for topic in sorted(self.joined):
            self.say_subscribed(peer, topic, True)

    def disconnect(self, peer):
        for topic in list(self.peers[peer].topics):
            self.forget(peer, topic)
        for members in self.mesh.values():
            members.discard(peer)
        del self.peers[peer]

    def forget(self, peer, topic):
        self.peers[peer].topics.discard(topic)
        self.mesh.get(topic, set()).discard(peer)
        self.fanout.get(topic, set()).discard(peer)

    # -- topics ----------------------------------------------------------------------------------------

    def join(self, topic):
        if topic in self.joined:
            return
        self.joined.add(topic)
        for peer in self.peers:
            self.say_subscribed(peer, topic, True)
        self.mesh[topic] = set()
        self.published.pop(topic, None)
        eligible = self.eligible(topic)
        self.graft(topic, self.some(eligible & self.fanout.pop(topic, set()), self.p.d))
        self.graft(topic, self.some(self.eligible(topic), self.p.d - len(self.mesh[topic])))

    def leave(self, topic):
        if topic not in self.joined:
            return
        self.joined.discard(topic)
        for peer in self.peers:
            self.say_subscribed(peer, topic, False)
        seconds = self.p.unsubscribe_backoff_s
        for peer in sorted(self.mesh.pop(topic)):
            self.say_prune(peer, topic, None if "bare-leave" in self.bugs else seconds)
            self.back_off(peer, topic, seconds)

    def eligible(self, topic):
        """Whom it may graft."""
        return {
            peer
            for peer in self.gossipers(topic) - self.mesh[topic]
            if (topic, peer) not in self.backoff and self.score(peer) >= 0
        }

    def graft(self, topic, peers):
        for peer in peers:
            self.mesh[topic].add(peer)
            self.say_graft(peer, topic)

    def prune(self, topic, peers):
        for peer in sorted(peers):
            self.mesh[topic].discard(peer)
            self.say_prune(peer, topic, self.p.prune_backoff_s)
            self.back_off(peer, topic, self.p.prune_backoff_s)

    def back_off(self, peer, topic, seconds):
        ends = self.now + 1000 * seconds
        self.backoff[topic, peer] = max(self.backoff.get((topic, peer), 0), ends)

    # -- an RPC ----------------------------------------------------------------------------------------

    def receive(self, peer, data):
        if self.score(peer) < self.p.graylist_threshold:
            return
        rpc = RPC.FromString(data)
        for each in rpc.subscriptions:
            if each.subscribe:
                self.peers[peer].topics.add(each.topicid)
            else:
                self.forget(peer, each.topicid)
        for message in rpc.publish:
            self.on_message(peer, message)
        if self.peers[peer].floods:
            return
        self.on_ihave(peer, rpc.control.ihave)
        self.on_iwant(peer, rpc.control.iwant)
        for each in rpc.control.graft:
            self.on_graft(peer, each.topicID)
        for each in rpc.control.prune:
            self.on_prune(peer, each.topicID, each.backoff)

    def on_graft(self, peer, topic):
        if topic not in self.joined or peer in self.mesh[topic]:
            return
        early = self.now < self.backoff.get((topic, peer), 0) and "early-graft" not in self.bugs
        full = len(self.mesh[topic]) >= self.p.d_high and not self.peers[peer].outbound
        if early or full or self.score(peer) < 0:
            self.prune(topic, [peer])
        else:
            self.mesh[topic].add(peer)

    def on_prune(self, peer, topic, seconds):
        if topic in self.joined:
            self.mesh[topic].discard(peer)
            self.back_off(peer, topic, seconds or self.p.prune_backoff_s)

    def on_ihave(self, peer, entries):
        if not entries or self.score(peer) < self.p.gossip_threshold:
            return
        self.ihaves[peer] = self.ihaves.get(peer, 0) + 1
        if self.ihaves[peer] > self.p.max_ihave_messages:
            return
        wanted = []
        for entry in entries:
            heard = self.ids_heard.get(peer, 0)
            ids = list(entry.messageIDs)[: max(0, self.p.max_ihave_length - heard)]
            self.ids_heard[peer] = heard + len(ids)
            wanted += [name for name in ids if not self.is_seen(name)]
        if wanted:
            self.to(peer).control.iwant.add(messageIDs=dict.fromkeys(wanted))

    def on_iwant(self, peer, entries):
        if self.score(peer) < self.p.gossip_threshold:
            return
        for name in dict.fromkeys(name for entry in entries for name in entry.messageIDs):
            if name not in self.cache:
                continue
            times = self.served[name, peer] = self.served.get((name, peer), 0) + 1
            if times <= self.p.gossip_retransmission:
                self.send(peer, self.cache[name])

    # -- messages --------------------------------------------------------------------------------------

    def is_seen(self, name):
        return name in self.seen and self.now < self.seen[name] + self.p.seen_ttl_ms

    def remember(self, name, message):
        if name not in self.cache:
            self.windows[0].append(name)
        self.cache[name] = message

    def on_message(self, sender, message):
        said = dict(toy_core.fields(message.SerializeToString()))
        name, author = self.id_of(said), said.get(toy_core.FROM)
        if message.topic not in self.joined or self.is_seen(name) or not toy_core.is_good(said):
            return
        if author == toy_core.peer_id(0):
            return
        self.seen[name] = self.now
        self.remember(name, message)
        self.delivered.append((message.topic, message.data))
        targets = self.mesh[message.topic] | self.floodsubs(message.topic)
        if "echo" not in self.bugs:
            targets = targets - {sender}
        for peer in sorted(targets):
            if toy_core.peer_id(peer) != author:
                self.send(peer, message)

    def publish(self, topic, data):
        self.seqno += 1
        seqno = self.seqno.to_bytes(8, "big")
        said = {toy_core.FROM: toy_core.peer_id(0), toy_core.DATA: data, toy_core.SEQNO: seqno}
        said[toy_core.TOPIC] = topic.encode()
        said[toy_core.SIGNATURE] = toy_core.private_key(0).sign(toy_core.signed_part(said))
        name = self.id_of(said)
        if self.is_seen(name):
            return
        rpc = RPC()
        rpc.publish.add().ParseFromString(b"".join(toy_core.field(k, v) for k, v in sorted(said.items())))
        self.seen[name] = self.now
        self.remember(name, rpc.publish[0])
        for peer in sorted(self.publish_targets(topic)):
            if self.score(peer) >= self.p.publish_threshold:
                self.send(peer, rpc.publish[0])

    def publish_targets(self, topic):
        if topic in self.joined:
            return self.mesh[topic] | self.floodsubs(topic)
        if not self.fanout.get(topic):
            self.fanout[topic] = set(self.some(self.fit_for_fanout(topic), self.p.d))
        if self.fanout[topic]:
            self.published[topic] = self.now
        else:
            del self.fanout[topic]
        return self.fanout.get(topic, set()) | self.floodsubs(topic)

    def fit_for_fanout(self, topic):
        return {peer for peer in self.gossipers(topic) if self.score(peer) >= self.p.publish_threshold}

    def id_of(self, said):
        return toy_core.Toy(self.p.message_id).id_of(said)

    # -- heartbeats ------------------------------------------------------------------------------------

    def advance(self, ms):
        end = self.now + ms
        while self.next_beat <= end:
            self.now = self.next_beat
            self.next_beat += self.p.heartbeat_interval_ms
            self.heartbeat()
        self.now = end

    def heartbeat(self):
        self.beats += 1
        self.ihaves, self.ids_heard = {}, {}
        self.backoff = {key: ends for key, ends in self.backoff.items() if ends > self.now}
        for step in (self.drop_negative, self.keep_size, self.keep_outbound, self.graft_better):
            for topic in sorted(self.mesh):
                step(topic)
        for topic in sorted(self.fanout):
            self.keep_fanout(topic)
        for topic in sorted({*self.mesh, *self.fanout}):
            self.gossip(topic)
        for name in self.windows.pop():
            self.cache.pop(name, None)
            self.served = {key: times for key, times in self.served.items() if key[0] != name}
        self.windows.insert(0, [])

    def drop_negative(self, topic):
        self.prune(topic, {peer for peer in self.mesh[topic] if self.score(peer) < 0})

    def keep_size(self, topic):
        members, p = self.mesh[topic], self.p
        if len(members) < p.d_low:
            self.graft(topic, self.some(self.eligible(topic), p.d - len(members)))
        if len(members) > p.d_high:
            shuffled = self.some(members, len(members))
            best = sorted(shuffled, key=self.score, reverse=True)[: p.d_score]
            order = best + [peer for peer in shuffled if peer not in best]
            kept, gone = order[: p.d], order[p.d :]
            lacking = max(0, p.d_out - len(self.outbound(kept)))
            spare = [peer for peer in gone if self.peers[peer].outbound][:lacking]
            inbound = [peer for peer in kept if not self.peers[peer].outbound]
            out = inbound[len(inbound) - len(spare) :]
            self.prune(topic, members - ({*kept} - {*out} | {*spare}))

    def keep_outbound(self, topic):
        members = self.mesh[topic]
        lacking = self.p.d_out - len(self.outbound(members))
        if len(members) >= self.p.d_low and lacking > 0:
            self.graft(topic, self.some(self.outbound(self.eligible(topic)), lacking))

    def graft_better(self, topic):
        members, p = self.mesh[topic], self.p
        if not members or self.beats % p.opportunistic_graft_ticks:
            return
        scores = sorted(map(self.score, members))
        half = len(scores) // 2
        median = scores[half] if len(scores) % 2 else (scores[half - 1] + scores[half]) / 2
        if median < p.opportunistic_graft_threshold:
            better = {peer for peer in self.eligible(topic) if self.score(peer) > median}
            self.graft(topic, self.some(better, p.opportunistic_graft_peers))

    def keep_fanout(self, topic):
        silent = self.now - self.published[topic] > self.p.fanout_ttl_ms
        if silent and "fanout-forever" not in self.bugs:
            del self.fanout[topic], self.published[topic]
            return
        fit = self.fit_for_fanout(topic)
        self.fanout[topic] &= fit
        self.fanout[topic].update(self.some(fit - self.fanout[topic], self.p.d - len(self.fanout[topic])))

    def gossip(self, topic):
        windows = self.windows if "old-ihave" in self.bugs else self.windows[: self.p.mcache_gossip]
        ids = [name for window in windows for name in window if self.cache[name].topic == topic]
        if not ids:
            return
        outside = self.gossipers(topic) - self.mesh.get(topic, set()) - self.fanout.get(topic, set())
        pool = {peer for peer in outside if self.score(peer) >= self.p.gossip_threshold}
        for peer in self.some(pool, max(self.p.d_lazy, int(self.p.gossip_factor * len(pool)))):
            told = (
                ids if len(ids) <= self.p.max_ihave_length else self.die.sample(ids, self.p.max_ihave_length)
            )
            self.to(peer).control.ihave.add(topicID=topic, messageIDs=told)


class Driver:
    def __init__(self, config, bugs):
        self.hello = Hello(
            name="toy-gossip",
            version="0.1",
            protocols=("gossipsub-1.1",),
            capabilities=frozenset({"clock", "score"}),
        )
        self.router = Router(config.parameters, config.seed, bugs)

    def reply(self):
        router = self.router
        out = tuple((peer, 0, rpc.SerializeToString()) for peer, rpc in router.out.items())
        delivered = tuple(Delivery(topic=topic, data=data) for topic, data in router.delivered)
        router.out, router.delivered = {}, []
        return Reply(t_ms=router.now, out=out, delivered=delivered)

    def connect(self, peer, protocol, outbound):
        self.router.connect(peer, protocol, outbound)
        return self.reply()

    def disconnect(self, peer):
        self.router.disconnect(peer)
        self.router.out.pop(peer, None)
        return self.reply()

    def rpc(self, peer, data, channel=0):
        self.router.receive(peer, data)
        return self.reply()

    def join(self, topic):
        self.router.join(topic)
        return self.reply()

    def leave(self, topic):
        self.router.leave(topic)
        return self.reply()

    def publish(self, topic, data):
        self.router.publish(topic, data)
        return self.reply()

    def score(self, peer, value):
        self.router.scores[peer] = value
        return self.reply()

    def advance(self, ms):
        self.router.advance(ms)
        return self.reply()

    def close(self):
        pass


def open_toy(config):
    """Raises ValueError for a bug that it does not have."""
    bugs = frozenset(filter(None, os.environ.get("TOY_BUGS", "").split(",")))
    if bugs - BUGS.keys():
        raise ValueError(f"TOY_BUGS has {sorted(bugs - BUGS.keys())}: there are {', '.join(BUGS)}")
    return Driver(config, bugs)
