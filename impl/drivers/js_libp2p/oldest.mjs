// The world of releases before 1.0, `libp2p-gossipsub`: CommonJS, on an object that stands for all of libp2p. Streams are
// those of `older.mjs`. Peer exchange, explicit peers and verdicts are not driven.
import Module from 'node:module'
import { OlderConnection } from './older.mjs'
import { Node } from './world.mjs'

export const PACKAGE = 'libp2p-gossipsub'

const RECORDS = 'libp2p/src/record/envelope'

class OldestConnection extends OlderConnection {
  /** Which streams are open. */
  get registry () {
    return new Map(this.streams.map((stream, at) => [at, { protocol: stream.protocol }]))
  }
}

class OldestNode extends Node {
  Connection = OldestConnection

  get components () {
    const { own, handlers, topologies, connections } = this
    return {
      peerId: own.id,
      peerStore: { addressBook: { add () {} } },
      registrar: {
        handle (protocols, handler) { protocols.forEach(protocol => handlers.set(protocol, handler)) },
        async register ({ _onConnect, _onDisconnect }) {
          topologies.add({ onConnect: _onConnect, onDisconnect: _onDisconnect })
        },
        unregister () {}
      },
      connectionManager: {
        getAll: (id) => [...connections.values()].filter(({ remotePeer }) => remotePeer.equals(id))
      }
    }
  }
}

/** Of libp2p itself the release asks how to open signed records alone, and peer exchange is off. */
function withoutRecords () {
  const real = Module._load
  Module._load = (request, ...given) => request === RECORDS ? {} : real(request, ...given)
}

/** What later releases take as options is a constant here. */
function setConstants (constants, parameters) {
  Object.assign(constants, {
    GossipsubHeartbeatInitialDelay: parameters.heartbeat_delay_ms,
    GossipsubGossipFactor: parameters.gossip_factor,
    GossipsubPruneBackoff: parameters.prune_backoff_s * 1000,
    GossipsubOpportunisticGraftTicks: parameters.opportunistic_graft_ticks,
    GossipsubOpportunisticGraftPeers: parameters.opportunistic_graft_peers,
    GossipsubIWantFollowupTime: parameters.scores?.iwant_followup_ms ?? 3000
  })
}

/** Its packages, as the driver asks for them. */
export async function oldest (load) {
  withoutRecords()
  const { default: Gossipsub } = await load(PACKAGE)
  const { default: constants } = await load(`${PACKAGE}/src/constants.js`)
  const { default: { keys } } = await load('libp2p-crypto')
  const { default: PeerId } = await load('peer-id')
  const { Multiaddr } = await load('multiaddr')
  return {
    Node: OldestNode,
    protocols: ['gossipsub-1.0', 'gossipsub-1.1'],
    capabilities: [],
    publishesToD: false,
    fixed: (parameters) => ({ unsubscribe_backoff_s: parameters.prune_backoff_s }),
    addressOf: (text) => new Multiaddr(text),
    async identityOf (seed) {
      const key = await keys.generateKeyPairFromSeed('Ed25519', seed)
      return { id: await PeerId.createFromPrivKey(key.bytes) }
    },
    // Text where the message was received, bytes where it is sent on.
    authorOf: ({ from }) => typeof from === 'string' ? PeerId.createFromB58String(from).toBytes() : from,
    seqnoOf: (message) => message.seqno,
    textOf: (id) => id.toB58String(),
    async routerOf (options, protocols, components, parameters) {
      setConstants(constants, parameters)
      const router = new (Gossipsub.default ?? Gossipsub)(components, options)
      router.multicodecs = protocols
      router.getMsgId = options.msgIdFn
      return router
    },
    startHeartbeats () {},
    scoreOf: (router, id) => router.score.score(id),
    heard (router, receive) {
      router.receive = (message) => {
        message.topicIDs.forEach(topic => { receive({ msg: { topic, data: message.data } }) })
      }
    },
    subscribe (router, topic) {
      router.removeListener(topic, router.receive)
      router.on(topic, router.receive)
      router.subscribe(topic)
    },
    idText: (_, id) => id,
    offered: (router) => router.multicodecs
  }
}
