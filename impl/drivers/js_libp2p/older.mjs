// The world of releases 1.0 to 14.1, `@chainsafe/libp2p-gossipsub`: streams are a `source` and a `sink`, a peer id holds
// its key, and the node is found by fields (from 5.0 on) or by getters (before).
import { identitiesOfKeys, log } from './current.mjs'
import { Connection, Node, restartHeartbeats, seqnoOf, unframed } from './world.mjs'

export const PACKAGE = '@chainsafe/libp2p-gossipsub'

const STORE_MS = 1
const FIRST_WITH_KEYS = 14
const FIRST_WITH_1_2 = 14

/** Bytes that wait to be read, one chunk after the other. */
class Chunks {
  #waiting = []
  #wake
  #ended = false

  push (bytes) {
    this.#waiting.push(bytes)
    this.#wake?.()
  }

  end () {
    this.#ended = true
    this.#wake?.()
  }

  async * [Symbol.asyncIterator] () {
    for (;;) {
      if (this.#waiting.length > 0) {
        yield this.#waiting.shift()
      } else if (this.#ended) {
        return
      } else {
        await new Promise(resolve => { this.#wake = resolve })
      }
    }
  }
}

/** One stream of a peer: the router reads its `source`, or has its `sink` read what it writes. */
class OlderStream {
  #chunks = new Chunks()
  isOpen = true

  constructor (connection, protocol) {
    this.connection = connection
    this.protocol = protocol
    this.stat = { protocol }
    this.source = this.#chunks
    // Before 4.0 a new stream comes beside its protocol.
    this.stream = this
    this.sink = this.sink.bind(this)
  }

  async sink (source) {
    let unread = Buffer.alloc(0)
    for await (const chunk of source) {
      unread = Buffer.concat([unread, chunk instanceof Uint8Array ? chunk : chunk.slice()])
      for (let rpc; this.isOpen && (rpc = unframed(unread)) != null;) {
        this.connection.wrote(rpc.toString('base64'))
        unread = unread.subarray(rpc.byteOffset - unread.byteOffset + rpc.length)
      }
    }
  }

  feed (bytes) {
    if (this.isOpen) {
      this.#chunks.push(bytes)
    }
  }

  /** The connection is lost. */
  end () {
    this.isOpen = false
    this.#chunks.end()
  }

  close () {
    this.#hungUp()
  }

  reset () {
    this.#hungUp()
  }

  abort () {
    this.#hungUp()
  }

  #hungUp () {
    if (this.isOpen) {
      this.end()
      this.connection.hungUp()
    }
  }
}

export class OlderConnection extends Connection {
  get stat () {
    return { direction: this.direction, status: this.status.toUpperCase() }
  }

  opened (protocol) {
    return new OlderStream(this, protocol)
  }

  receivedBy (handler) {
    handler({ protocol: this.protocol, stream: this.inbound, connection: this })
  }
}

/**
 * The peer store is in a database, which takes a moment to say that it has no record of a peer. What a heartbeat asks
 * it answers at once: what the heartbeat sends belongs to its instant.
 */
async function stored ({ keys: { time } }) {
  if (!time.isAdvancing) {
    await new Promise(resolve => setTimeout(resolve, STORE_MS))
  }
}

class OlderNode extends Node {
  Connection = OlderConnection

  get components () {
    const { own, handlers, topologies, isRecordOf } = this
    const each = (protocols, act) => [protocols].flat().forEach(act)
    const book = {
      add: async () => {},
      getRawEnvelope: async () => { await stored(this) },
      // The router has opened the record itself.
      consumePeerRecord: async () => true
    }
    const components = {
      peerId: own.id,
      privateKey: own.privateKey,
      logger: { forComponent: () => log },
      peerStore: {
        addressBook: book,
        addEventListener () {},
        removeEventListener () {},
        merge: async () => {},
        get: async () => {
          await stored(this)
          throw Object.assign(new Error('Not found'), { code: 'ERR_NOT_FOUND', name: 'NotFoundError' })
        },
        consumePeerRecord: async (record, peer) => await isRecordOf(record, peer)
      },
      registrar: {
        handle: async (protocols, handler) => { each(protocols, protocol => handlers.set(protocol, handler)) },
        unhandle: async (protocols) => { each(protocols, protocol => handlers.delete(protocol)) },
        register: async (_, topology) => { topologies.add(topology) },
        unregister () {},
        getTopologies: () => [...topologies]
      },
      connectionManager: {
        getConnections: (id) => [...this.connections.values()].filter(({ remotePeer }) => remotePeer.equals(id)),
        openConnection: async (id) => await this.wanted(id)
      }
    }
    for (const [name, value] of Object.entries(components)) {
      components[`get${name[0].toUpperCase()}${name.slice(1)}`] = () => value
    }
    return components
  }
}

/** Who peers are, before 14: their ids hold the bytes of their keys. */
async function identitiesOfIds (load) {
  const { generateKeyPairFromSeed } = await load('@libp2p/crypto/keys')
  const { peerIdFromKeys } = await load('@libp2p/peer-id')
  const { RecordEnvelope, PeerRecord } = await load('@libp2p/peer-record')
  return {
    async identityOf (seed) {
      const key = await generateKeyPairFromSeed('Ed25519', seed)
      return { id: await peerIdFromKeys(key.public.bytes, key.bytes) }
    },
    async isRecordOf (record, peer) {
      const envelope = await RecordEnvelope.openAndCertify(record, PeerRecord.DOMAIN)
      return peer.equals(envelope.peerId) && PeerRecord.createFromProtobuf(envelope.payload).peerId.equals(peer)
    },
    authorOf: (message) => message.from.toBytes()
  }
}

/** Its packages, as the driver asks for them. */
export async function older (load, version) {
  const [major, minor] = version.split('.').map(Number)
  const hasUnsubscribeBackoff = major > 9 || (major === 9 && minor >= 1)
  const { GossipSub } = await load(PACKAGE)
  const identities = await (major < FIRST_WITH_KEYS ? identitiesOfIds : identitiesOfKeys)(load)
  const { multiaddr } = await load('@multiformats/multiaddr')
  return {
    Node: OlderNode,
    protocols: ['gossipsub-1.0', 'gossipsub-1.1', ...(major < FIRST_WITH_1_2 ? [] : ['gossipsub-1.2'])],
    capabilities: ['explicit', 'peer-exchange', 'verdict'],
    publishesToD: major > 13 || (major === 13 && minor >= 1),
    fixed: (parameters) => ({
      gossip_factor: 0.25,
      ...hasUnsubscribeBackoff ? {} : { unsubscribe_backoff_s: parameters.prune_backoff_s }
    }),
    addressOf: multiaddr,
    ...identities,
    async routerOf (options, protocols, components) {
      const isOfFields = GossipSub.length > 0
      const router = isOfFields ? new GossipSub(components, options) : new GossipSub(options)
      if (!isOfFields) {
        await router.init(components)
      }
      router.multicodecs = protocols
      return router
    },
    // 1.0 and 1.1 keep no name for it.
    seqnoOf,
    textOf: (id) => id.toString(),
    idText: (router, id) => router.msgIdToStrFn?.(id) ?? Buffer.from(id).toString('base64').replace(/=+$/, ''),
    scoreOf: (router, id) => router.getScore(id),
    heard (router, receive) {
      router.addEventListener('gossipsub:message', ({ detail }) => { receive(detail) })
    },
    subscribe (router, topic) { router.subscribe(topic) },
    startHeartbeats: restartHeartbeats,
    offered: (router) => router.multicodecs
  }
}
